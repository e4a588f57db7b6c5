// Hold store: the state changes of held mail, and the totals that change with them.

import {groupBy} from '../../../shared/collections.ts';
import {endedEvent, heldEvent, partEvent, reopenedEvent} from '../../services/events/held-event.ts';
import type {HoldStore} from '../../services/ports.ts';
import type {PostfixRows} from '../../services/quarantine/postfix-rows.ts';
import {
  type ArrivalLimit,
  claimedStates,
  isHeld,
  type NewHeldMail,
  type RecipientAct,
  type StoredHeldMail,
  unjudgedSymbols,
} from '../../services/quarantine/stored-mail.ts';
import {type Db, type Dialect, insertOwn, query} from './db.ts';
import {appendToChange} from './event-log.ts';
import {
  adjustCounts,
  adjustSums,
  arrivalColumns,
  foldFrom,
  foldRecipients,
  foldSubject,
  type HeldMailRow,
  readCounts,
  rowToHeldMail,
  toRow,
} from './held-mail.ts';
import {dropRequests, releaseRequests} from './release-requests.ts';

/** Of the mails with the ids in one bound value. */
const amongOf = ({own, values}: Dialect): string => `${own.condition}queue_id IN (${values('text')})`;
export const claimed = `state IN (${claimedStates.map(state => `'${state}'`).join(', ')})`;
const unjudged = JSON.stringify(unjudgedSymbols);

interface Identified {
  queue_id: string;
}

const idsIn = (rows: Identified[]): string[] => rows.map(({queue_id}) => queue_id);

type Ended = Pick<HeldMailRow, 'queue_id' | 'domain_id' | 'domain' | 'reason' | 'size_bytes'>;

export const holdStore = (db: Db): HoldStore => {
  const {json, own, lease} = db.dialect;
  const among = amongOf(db.dialect);
  const findAll: HoldStore['findAll'] = async queueIds =>
    (await query<HeldMailRow>(db, `SELECT * FROM held_mail WHERE ${among}`, [json(queueIds)])).map(rowToHeldMail);
  const find: HoldStore['find'] = async queueId => (await findAll([queueId]))[0];

  return {
    ...heldFrom(db),
    ...recipientActs(db, find),
    ...releaseRequests(db, async queueId => {
      await lockMails(db, [queueId]);
      return find(queueId);
    }),
    findAll,
    find,
    listClaimed: async keeper =>
      idsIn(
        await query(db, `SELECT queue_id FROM held_mail WHERE ${own.condition}is_held AND keeper = ? AND ${claimed}`, [keeper]),
      ),
    listArrivedBefore: async (limits, choice) => listArrivedBefore(db, limits, choice),
    counts: async () => readCounts(db),
    async countHeldBy(keeper) {
      const sql = `SELECT count(*) AS count FROM held_mail WHERE ${own.condition}is_held AND keeper = ?`;
      return (await query<{count: number}>(db, sql, [keeper]))[0]?.count ?? 0;
    },
    insert: async (mails, how) => insertHeldMails(db, mails, how),

    lock: async queueIds => lockMails(db, queueIds),

    async claim(queueIds, {state, keyId}) {
      const sql = `UPDATE held_mail SET state = ?, acted_by_key_id = ?${lease.taking} WHERE ${among} AND state = 'held' RETURNING queue_id, recipients`;
      const rows = await query<Pick<HeldMailRow, 'queue_id' | 'recipients'>>(db, sql, [state, keyId, json(queueIds)]);
      return new Map(rows.map(({queue_id, recipients}) => [queue_id, JSON.parse(recipients) as string[]]));
    },

    async unclaim(queueIds) {
      const sql = `UPDATE held_mail SET state = 'held', acted_by_key_id = NULL WHERE ${among} AND ${claimed}${lease.isOwn} RETURNING queue_id`;
      return new Set(idsIn(await query(db, sql, [json(queueIds)])));
    },

    async end(queueIds, from, ending, how) {
      const {state, at, keyId} = ending;
      const ended = await query<HeldMailRow>(
        db,
        `UPDATE held_mail SET state = ?, is_held = false, acted_at = ?, acted_by_key_id = ? WHERE ${among} AND state = ?${from === 'held' ? '' : lease.isOwn} RETURNING *`,
        [state, at, keyId, json(queueIds), from],
      );
      await adjustSums(db, ended.map(takenAway));
      const events = ended.map(row => endedEvent(rowToHeldMail(row), ending));
      if (how !== 'moved') await appendToChange(db, events);
      return new Set(idsIn(ended));
    },

    async reopen(mail, at) {
      const sql = `UPDATE held_mail SET state = 'held', is_held = true, acted_at = NULL, acted_by_key_id = NULL WHERE ${own.condition}queue_id = ? AND state = ? RETURNING queue_id`;
      const changed = await query(db, sql, [mail.queue_id, mail.state]);
      if (changed.length === 1) {
        await adjustCounts(db, mail, 1);
        await appendToChange(db, [reopenedEvent(mail, at)]);
      }
      return changed.length === 1;
    },

    async forget(queueId) {
      // As it is when it is deleted: another transaction may have ended it since any look before, and counted that.
      const sql = `DELETE FROM held_mail WHERE ${own.condition}queue_id = ? RETURNING queue_id, domain_id, domain, reason, size_bytes, is_held`;
      const [mail] = await query<Ended & Pick<HeldMailRow, 'is_held'>>(db, sql, [queueId]);
      if (mail?.is_held) await adjustCounts(db, mail, -1);
    },

    async forgetEnded(before, limit) {
      const sql = `DELETE FROM held_mail WHERE ${own.condition}queue_id IN (${endedSql(db.dialect)}) RETURNING queue_id`;
      return (await query(db, sql, [before, limit])).length;
    },
  };
};

const takenAway = (mail: HeldMailRow) => ({...mail, count: -1, size_bytes: -mail.size_bytes});

const endedSql = ({own}: Dialect): string =>
  `SELECT queue_id FROM held_mail WHERE ${own.condition}NOT is_held AND acted_at < ? LIMIT ?`;

const actColumns = ['address', 'state', 'acted_at', 'acted_by_key_id'];

/** `text`: its type. `node`: columns that name a node, where there are several. */
export const recipientActTable = (text: string, node: readonly string[]): string => {
  const key = [...node, 'queue_id'];
  const names = key.join(', ');
  const columns = [...key, 'address', 'state', 'acted_at'].map(column => `${column} ${text} NOT NULL`).join(', ');
  return `CREATE TABLE held_recipient_act (
    ${columns}, acted_by_key_id bigint, PRIMARY KEY (${names}, address),
    FOREIGN KEY (${names}) REFERENCES held_mail (${names}) ON DELETE CASCADE
  )`;
};

/** What was done for recipients for whom mail is not held any more. */
const recipientActs = (db: Db, find: HoldStore['find']): Pick<HoldStore, 'recipientActs' | 'strikeRecipients' | 'endFor'> => {
  const {json, own} = db.dialect;

  /** Resolves with those for whom nothing was done before. */
  const strike = async (mail: StoredHeldMail, acts: readonly RecipientAct[]) => {
    const {queue_id} = mail;
    const struck = new Set(acts.map(({address}) => address));
    const left = mail.recipients.filter(recipient => !struck.has(recipient));
    await query(db, `UPDATE held_mail SET recipients = ? WHERE ${own.condition}queue_id = ?`, [JSON.stringify(left), queue_id]);
    await query(db, strikingSql(db.dialect), [json(foldRecipients(left)), queue_id]);
    await dropRequests(db, queue_id, [...struck]);
    const keeping = `${insertOwn(db.dialect, 'held_recipient_act', ['queue_id', ...actColumns])} ON CONFLICT DO NOTHING RETURNING address`;
    const rows = await query<{address: string}>(db, keeping, [json(acts.map(act => ({queue_id, ...act})))]);
    return {left, news: rows.map(({address}) => address)};
  };

  return {
    async recipientActs(queueIds) {
      const sql = `SELECT queue_id, ${actColumns.join(', ')} FROM held_recipient_act WHERE ${amongOf(db.dialect)} ORDER BY acted_at, address`;
      const rows = await query<RecipientAct & Identified>(db, sql, [json(queueIds)]);
      const ofMails = groupBy(rows, ({queue_id}) => queue_id);
      return new Map([...ofMails].map(([queueId, some]) => [queueId, some.map(({queue_id, ...act}) => act)]));
    },

    async strikeRecipients(queueId, acts) {
      const mail = await find(queueId);
      if (mail) await strike(mail, acts);
    },

    async endFor(queueId, {addresses, state, at, keyId, delivered}) {
      await lockMails(db, [queueId]);
      const mail = await find(queueId);
      if (!mail) return {addresses: [], isLast: false};
      if (isHeld(mail) && mail.recipients.every(recipient => addresses.includes(recipient)))
        return {addresses: mail.recipients, isLast: true};
      const act = {state, acted_at: at, acted_by_key_id: keyId};
      const {left, news} = await strike(
        mail,
        addresses.map(address => ({address, ...act})),
      );
      if (news.length > 0)
        await appendToChange(db, [partEvent({...mail, recipients: news}, {state, at, keyId, delivered, left: left.length})]);
      return {addresses: news, isLast: false};
    },
  };
};

/** The addresses in the header From. */
const heldFrom = (db: Db): Pick<HoldStore, 'listWithoutFrom' | 'writeFrom'> => {
  const {json, own, recipients, values} = db.dialect;
  return {
    async listWithoutFrom(after, {limit, keeper}) {
      const kept = keeper === undefined ? {sql: '', bindings: []} : {sql: ' AND keeper = ?', bindings: [keeper]};
      const sql = `SELECT queue_id FROM held_mail WHERE ${own.condition}is_held AND from_addresses IS NULL AND queue_id > ?${kept.sql} ORDER BY queue_id LIMIT ?`;
      return idsIn(await query(db, sql, [after, ...kept.bindings, limit]));
    },

    async writeFrom(mails) {
      const isColumn = recipients === 'column';
      const folded = isColumn ? `, from_domain = ?, folded_from = ARRAY(${values('text')})` : '';
      const sql = `UPDATE held_mail SET from_addresses = ?${folded} WHERE ${own.condition}queue_id = ? AND from_addresses IS NULL`;
      for (const {queueId, from} of mails) {
        const {from_domain, folded_from} = foldFrom(from);
        await query(db, sql, [JSON.stringify(from), ...(isColumn ? [from_domain, json(folded_from)] : []), queueId]);
      }
    },
  };
};

const groupColumns = ['domain_id', 'domain', 'reason', 'arrived_at'];

const ofGroup = groupColumns
  .slice(0, 3)
  .map(name => `mail.${name} = due.${name}`)
  .join(' AND ');

/**
 * An index leads to the mail of each group: what is held for longer than all other mail is not read. The bound values are the groups, what
 * `condition` binds, and the limit, with `isLateral` twice: PostgreSQL would else read all mail, expecting much of it to be due.
 */
const dueSql = ({rows, join, own, isLateral}: Dialect, condition: string): string => {
  const groups = `(${rows('held_mail', groupColumns)}) AS due`;
  const due = `${own.condition}${ofGroup} AND mail.arrived_at < due.arrived_at AND ${condition}`;
  return isLateral
    ? `SELECT found.queue_id FROM ${groups} CROSS JOIN LATERAL (
        SELECT queue_id FROM held_mail AS mail WHERE ${due} ORDER BY mail.arrived_at LIMIT ?
      ) AS found LIMIT ?`
    : `SELECT queue_id FROM ${groups} ${join} held_mail AS mail ON ${due} LIMIT ?`;
};

const listArrivedBefore = async (
  db: Db,
  limits: readonly ArrivalLimit[],
  {limit, keeper}: Parameters<HoldStore['listArrivedBefore']>[1],
): Promise<string[]> => {
  const {json, isLateral} = db.dialect;
  const kept = keeper === undefined ? {sql: '', bindings: []} : {sql: ' AND keeper = ?', bindings: [keeper]};
  const groups = limits.map(({before, ...group}) => ({...group, arrived_at: before}));
  const sql = dueSql(db.dialect, `is_held AND state = 'held' AND symbols <> ?${kept.sql}`);
  return idsIn(await query(db, sql, [json(groups), unjudged, ...kept.bindings, ...(isLateral ? [limit, limit] : [limit])]));
};

const lockMails = async (db: Db, queueIds: readonly string[]): Promise<void> => {
  const {json, lease} = db.dialect;
  if (lease.locking === '') return;
  const sql = `SELECT queue_id FROM held_mail WHERE ${amongOf(db.dialect)} ORDER BY queue_id${lease.locking}`;
  await query(db, sql, [json(queueIds)]);
};

/** Leaves the recipients in the first value to the mail in the second. */
const strikingSql = ({recipients, values, own}: Dialect): string =>
  recipients === 'rows'
    ? `DELETE FROM held_recipient WHERE recipient NOT IN (${values('text')}) AND queue_id = ?`
    : `UPDATE held_mail SET folded_recipients = ARRAY(${values('text')}) WHERE ${own.condition}queue_id = ?`;

const postfixColumns = 'queue_id, state, queued_at, acted_at, acted_by_key_id';

export const postfixRows = (db: Db): PostfixRows => {
  const {json, own} = db.dialect;
  const among = amongOf(db.dialect);
  return {
    list: async () => query(db, `SELECT ${postfixColumns} FROM held_mail WHERE ${own.condition}is_held AND keeper = 'postfix'`),
    find: async queueIds =>
      query(db, `SELECT ${postfixColumns} FROM held_mail WHERE ${among} AND keeper = 'postfix'`, [json(queueIds)]),
    async listWithoutSubject() {
      const sql = `SELECT queue_id FROM held_mail WHERE ${own.condition}is_held AND keeper = 'postfix' AND symbols = ? AND subject = ''`;
      return idsIn(await query(db, sql, [unjudged]));
    },

    async confirm(confirmations) {
      const ids = json(confirmations.map(({queueId}) => queueId));
      const rows = await query<Ended>(db, `SELECT * FROM held_mail WHERE is_held AND ${among}`, [ids]);
      const sizes = new Map(confirmations.map(({queueId, sizeBytes}) => [queueId, sizeBytes]));
      for (const {queueId, queuedAt, sizeBytes} of confirmations)
        await query(db, `UPDATE held_mail SET queued_at = ?, size_bytes = ? WHERE ${own.condition}queue_id = ?`, [
          queuedAt,
          sizeBytes,
          queueId,
        ]);
      await adjustSums(
        db,
        rows.map(row => ({...row, count: 0, size_bytes: (sizes.get(row.queue_id) ?? 0) - row.size_bytes})),
      );
    },

    async describe(queueId, {from, subject, client_ip, helo}) {
      const sql = `UPDATE held_mail SET subject = ?, folded_subject = ?, client_ip = ?, helo = ? WHERE ${own.condition}queue_id = ?`;
      await query(db, sql, [subject, foldSubject(subject), client_ip, helo, queueId]);
      await heldFrom(db).writeFrom([{queueId, from}]);
    },
  };
};

/** Adds mails to the queue. A mail that is there already is not changed: its file was indexed before. */
const insertHeldMails = async (tx: Db, mails: readonly NewHeldMail[], how?: 'moved'): Promise<void> => {
  if (mails.length === 0) return;
  const {dialect} = tx;
  const isColumn = dialect.recipients === 'column';
  const names = isColumn ? [...arrivalColumns, 'folded_recipients', 'from_domain', 'folded_from'] : arrivalColumns;
  const folded = ({recipients, from}: NewHeldMail) => ({
    folded_recipients: foldRecipients(recipients),
    ...(from && foldFrom(from)),
  });
  const rows = isColumn ? mails.map(mail => ({...toRow(mail), ...folded(mail)})) : mails.map(toRow);
  const adding = `${insertOwn(dialect, 'held_mail', names)} ON CONFLICT DO NOTHING RETURNING queue_id`;
  const added = await query<Identified>(tx, adding, [dialect.json(rows)]);
  // Of two mails with one id, the first one was added.
  const byId = new Map(mails.toReversed().map(mail => [mail.queue_id, mail]));
  const news = added.flatMap(({queue_id}) => byId.get(queue_id) ?? []);
  if (!isColumn) {
    const recipients = news.flatMap(mail =>
      foldRecipients(mail.recipients).map(recipient => ({queue_id: mail.queue_id, recipient})),
    );
    await query(tx, insertOwn(dialect, 'held_recipient', ['queue_id', 'recipient']), [dialect.json(recipients)]);
  }
  await adjustSums(
    tx,
    news.map(({domain_id, domain, reason, size_bytes}) => ({domain_id, domain, reason, count: 1, size_bytes})),
  );
  if (how !== 'moved') await appendToChange(tx, news.map(heldEvent));
};

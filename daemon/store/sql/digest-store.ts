// Digests of a node: who sends them, their entries, and the links to held mail.
import {groupBy} from '../../../shared/collections.ts';
import {type HoldBackendName, isForRecipients, type StoredHeldMail} from '../../services/quarantine/stored-mail.ts';
import {
  aheadMs,
  type DigestEntry,
  type DigestStore,
  type RecipientLink,
  type Settlement,
  type UnlistedMail,
  type WaitingEntry,
} from '../../services/recipients/digest-store.ts';
import {timeAt} from '../../services/time-at.ts';
import {type Db, insertOwn, query} from './db.ts';
import {type ListedRow, listedMail, mailColumns} from './held-mail.ts';

/** `text`: its type. `node`: columns that name a node, where there are several. Entries and links go with their mail. */
export const digestTables = (text: string, node: readonly string[]): string[] => {
  const key = [...node, 'queue_id'].join(', ');
  const ofDomain = [...node, 'domain_id'].join(', ');
  const columns = (...names: string[]) => names.map(name => `${name} ${text} NOT NULL`).join(', ');
  const ofMail = `FOREIGN KEY (${key}) REFERENCES held_mail (${key}) ON DELETE CASCADE`;
  return [
    `CREATE TABLE digest_round (
       ${columns(...node, 'due_at', 'holder', 'held_until')}, domain_id bigint NOT NULL, is_over boolean NOT NULL, PRIMARY KEY (${ofDomain})
     )`,
    `CREATE TABLE digest_entry (
       ${columns(...node, 'queue_id', 'address', 'mailbox', 'state')}, domain_id bigint NOT NULL, digest_id ${text}, PRIMARY KEY (${key}, address), ${ofMail}
     )`,
    `CREATE INDEX digest_entry_waiting ON digest_entry (${ofDomain}, mailbox) WHERE state = 'waiting'`,
    `CREATE INDEX digest_entry_later ON digest_entry (${ofDomain}) WHERE state = 'later'`,
    `CREATE INDEX digest_entry_by_digest ON digest_entry (${[...node, 'digest_id'].join(', ')}) WHERE digest_id IS NOT NULL`,
    `CREATE TABLE recipient_link (
       ${columns(...node, 'hash', 'queue_id', 'address', 'made_at', 'digest_id')}, PRIMARY KEY (hash), ${ofMail}
     )`,
    `CREATE INDEX recipient_link_by_mail ON recipient_link (${key})`,
  ];
};

const entryColumns = ['queue_id', 'address', 'mailbox', 'domain_id', 'state', 'digest_id'];
const linkColumns = ['hash', 'queue_id', 'address', 'made_at', 'digest_id'];

export const digestStore = (db: Db): DigestStore => ({
  ...rounds(db),
  ...entries(db),
  ...links(db),

  async unlisted({domain_id, due_at}, {reasons, since, after, limit, recipientText}) {
    const {own, values, json} = db.dialect;
    const place = after ?? {arrived_at: '', queue_id: ''};
    const named = recipientText === undefined ? '' : 'AND lower(recipients) LIKE ?';
    const sql = `SELECT queue_id, arrived_at, sender, from_addresses, recipients FROM held_mail
      WHERE ${own.condition}is_held AND domain_id = ? AND direction = 'inbound' AND arrived_at >= ? AND arrived_at <= ? AND reason IN (${values('text')})
      AND (arrived_at > ? OR (arrived_at = ? AND queue_id > ?)) ${named}
      AND NOT EXISTS (SELECT 1 FROM digest_entry AS entry WHERE ${own.condition}entry.queue_id = held_mail.queue_id)
      ORDER BY arrived_at, queue_id LIMIT ?`;
    // Only a lower bound of one column leads the index to the place.
    const from = place.arrived_at > since ? place.arrived_at : since;
    const found = await query<UnlistedRow>(db, sql, [
      ...[domain_id, from, due_at, json(reasons), place.arrived_at, place.arrived_at, place.queue_id],
      ...(recipientText === undefined ? [] : [`%${recipientText}%`]),
      limit,
    ]);
    return found.map(({from_addresses, recipients, ...mail}) => ({
      ...mail,
      from: from_addresses === null ? null : (JSON.parse(from_addresses) as string[]),
      recipients: JSON.parse(recipients) as string[],
    }));
  },
});

type UnlistedRow = Omit<UnlistedMail, 'recipients' | 'from'> & {recipients: string; from_addresses: string | null};

const rounds = (db: Db): Pick<DigestStore, 'take' | 'close'> => {
  const {json, own} = db.dialect;
  const ofDomain = `${own.condition}domain_id = ?`;
  return {
    async take(round, {holder, now, heldMs, isKept = false}) {
      const find = async () =>
        (await query<StoredRound>(db, `SELECT due_at, is_over FROM digest_round WHERE ${ofDomain}`, [round.domain_id]))[0];
      const before = await find();
      const row = {...round, holder, held_until: timeAt(now + heldMs), is_over: false};
      const adding = insertOwn(db.dialect, 'digest_round', Object.keys(row));
      const isFree = '? AND (digest_round.is_over OR digest_round.held_until < ? OR digest_round.held_until > ?)';
      const isOpen = 'NOT digest_round.is_over OR digest_round.due_at < excluded.due_at OR digest_round.due_at > ?';
      const isLater = 'digest_round.due_at > excluded.due_at AND digest_round.due_at <= ?';
      const taking = `${adding} ON CONFLICT (${own.column}domain_id) DO UPDATE
        SET due_at = CASE WHEN ${isLater} THEN digest_round.due_at ELSE excluded.due_at END, holder = excluded.holder, held_until = excluded.held_until, is_over = false
        WHERE (digest_round.holder = excluded.holder OR ${isFree}) AND (${isOpen}) RETURNING due_at`;
      const ahead = timeAt(now + aheadMs);
      const bindings = [json([row]), ahead, !isKept, timeAt(now), timeAt(now + heldMs + aheadMs), ahead];
      const [taken] = await query<Pick<StoredRound, 'due_at'>>(db, taking, bindings);
      if (!taken) return (await find())?.is_over ? 'over' : 'elsewhere';
      if (before?.due_at !== taken.due_at)
        await query(db, `UPDATE digest_entry SET state = 'waiting' WHERE ${ofDomain} AND state = 'later'`, [round.domain_id]);
      return 'taken';
    },

    async close({domain_id}) {
      await query(db, `UPDATE digest_round SET is_over = true WHERE ${ofDomain}`, [domain_id]);
    },
  };
};

interface StoredRound {
  due_at: string;
  is_over: boolean | number;
}

const entries = (
  db: Db,
): Pick<
  DigestStore,
  'waiting' | 'waitingFor' | 'resentAmong' | 'add' | 'drop' | 'postpone' | 'dropEnded' | 'putInto' | 'settle'
> => {
  const {json, own, values, rows} = db.dialect;
  const ofDomain = `${own.condition}domain_id = ? AND state = 'waiting'`;
  const named = `(queue_id, address) IN (${rows('digest_entry', ['queue_id', 'address'])})`;
  const namesOf = (some: readonly DigestEntry[]) => json(some.map(({queue_id, address}) => ({queue_id, address})));

  return {
    async waiting(domainId, {after, limit}) {
      const sql = `SELECT DISTINCT mailbox FROM digest_entry WHERE ${ofDomain} AND mailbox > ? ORDER BY mailbox LIMIT ?`;
      const found = await query<Pick<DigestEntry, 'mailbox'>>(db, sql, [domainId, after, limit]);
      return found.map(({mailbox}) => mailbox);
    },

    async waitingFor(domainId, mailboxes, limit) {
      // Each mail comes first with one of its addresses: one with a hundred tags leaves room for others.
      const waiting = `SELECT queue_id AS listed_id, address, mailbox, digest_id,
          row_number() OVER (PARTITION BY mailbox, queue_id ORDER BY address) AS nth FROM digest_entry
        WHERE ${ofDomain} AND mailbox IN (${values('text')})`;
      const ranked = `SELECT entry.*, mail.*, count(*) OVER (PARTITION BY mailbox) AS waiting_count,
          row_number() OVER (PARTITION BY mailbox ORDER BY digest_id IS NULL, nth, arrived_at, listed_id, address) AS place
        FROM (${waiting}) AS entry
        LEFT JOIN (SELECT ${mailColumns}, keeper FROM held_mail WHERE ${own.condition}is_held) AS mail ON mail.queue_id = listed_id`;
      const sql = `SELECT * FROM (${ranked}) AS ranked WHERE place <= ? ORDER BY mailbox, place`;
      return (await query<WaitingRow>(db, sql, [domainId, json(mailboxes), limit])).map(waitingEntry);
    },

    async resentAmong(domainId, digestIds) {
      const sql = `SELECT DISTINCT digest_id FROM digest_entry
        WHERE ${own.condition}digest_id IN (${values('text')}) AND domain_id = ? AND state = 'resent'`;
      const found = await query<{digest_id: string}>(db, sql, [json(digestIds), domainId]);
      return found.map(({digest_id}) => digest_id);
    },

    async add(domainId, some) {
      const given = some.map(entry => ({...entry, domain_id: domainId, state: 'waiting', digest_id: null}));
      const sql = `${insertOwn(db.dialect, 'digest_entry', entryColumns)} AND ${isThere(db)} ON CONFLICT DO NOTHING`;
      await query(db, sql, [json(given)]);
    },

    async drop(some) {
      if (some.length > 0) await query(db, `DELETE FROM digest_entry WHERE ${own.condition}${named}`, [namesOf(some)]);
    },

    async postpone(some) {
      if (some.length === 0) return;
      await query(db, `UPDATE digest_entry SET state = 'later' WHERE ${own.condition}${named}`, [namesOf(some)]);
    },

    async dropEnded(domainId, mailboxes) {
      const sql = `DELETE FROM digest_entry WHERE ${ofDomain} AND mailbox IN (${values('text')})
        AND NOT EXISTS (SELECT 1 FROM held_mail AS mail WHERE ${own.condition}mail.queue_id = digest_entry.queue_id AND mail.is_held)`;
      await query(db, sql, [domainId, json(mailboxes)]);
    },

    async putInto(some) {
      if (some.length === 0) return;
      const given = rows('digest_entry', ['queue_id', 'address', 'digest_id']);
      const sql = `UPDATE digest_entry SET digest_id = given.digest_id FROM (${given}) AS given
        WHERE ${own.condition}digest_entry.queue_id = given.queue_id AND digest_entry.address = given.address`;
      await query(db, sql, [json(some.map(({queue_id, address, digest_id}) => ({queue_id, address, digest_id})))]);
    },

    async settle(domainId, settlements, served) {
      const states = groupBy(settlements, ({state}) => state);
      const among = (some: readonly Settlement[]) => [
        json(some.map(({mailbox}) => mailbox)),
        json(some.map(({digest_id}) => digest_id)),
      ];
      const ofDigests = `${ofDomain} AND mailbox IN (${values('text')}) AND digest_id IN (${values('text')})`;
      for (const [state, some] of states) {
        const bindings = [domainId, ...among(some)];
        if (state === 'unsent') {
          const links = `digest_id IN (${values('text')}) AND queue_id IN (SELECT queue_id FROM digest_entry WHERE ${ofDigests})`;
          await query(db, `DELETE FROM recipient_link WHERE ${own.condition}${links}`, [among(some)[1] ?? '', ...bindings]);
        }
        const change = state === 'unsent' || state === 'apart' ? 'digest_id = NULL' : `state = '${state}'`;
        await query(db, `UPDATE digest_entry SET ${change} WHERE ${ofDigests}`, bindings);
      }
      if (served.length === 0) return;
      const left = `UPDATE digest_entry SET state = 'later' WHERE ${ofDomain} AND mailbox IN (${values('text')}) AND digest_id IS NULL`;
      await query(db, left, [domainId, json(served)]);
    },
  };
};

/** The mail of a given row may have been forgotten since it was read. */
const isThere = ({dialect: {own}}: Db): string =>
  `EXISTS (SELECT 1 FROM held_mail WHERE ${own.condition}held_mail.queue_id = given.queue_id)`;

type WaitingRow = Pick<WaitingEntry, 'address' | 'mailbox' | 'digest_id' | 'waiting_count'> & {listed_id: string} & (
    | (Omit<ListedRow, 'node_id' | 'release_requested'> & {keeper: HoldBackendName})
    | {queue_id: null}
  );

const waitingEntry = (row: WaitingRow): WaitingEntry => {
  const {listed_id: queue_id, address, mailbox, digest_id, waiting_count} = row;
  const entry = {queue_id, address, mailbox, digest_id, waiting_count};
  if (row.queue_id === null) return {...entry, mail: null};
  const {keeper, ...listed} = row;
  const symbol_scores = JSON.parse(row.symbols) as StoredHeldMail['symbol_scores'];
  const {recipients, sender, from, subject, reason, arrived_at} = listedMail({...listed, node_id: '', release_requested: false});
  // For others it was released or discarded meanwhile.
  if (!recipients.includes(address)) return {...entry, mail: null};
  return {
    ...entry,
    mail: {sender, from, subject, reason, arrived_at, is_for_recipients: isForRecipients({keeper, recipients, symbol_scores})},
  };
};

/** Links, and what moves to another store. */
const links = (db: Db): Pick<DigestStore, 'link' | 'addLinks' | 'ofMails' | 'restore'> => {
  const {json, own, values} = db.dialect;
  return {
    async link(hash) {
      const sql = `SELECT ${own.column}${linkColumns.join(', ')} FROM recipient_link WHERE hash = ?`;
      return (await query<RecipientLink>(db, sql, [hash]))[0];
    },

    async addLinks(some) {
      await query(db, `${insertOwn(db.dialect, 'recipient_link', linkColumns)} AND ${isThere(db)}`, [json(some)]);
    },

    async ofMails(queueIds) {
      const of = async <R>(table: string, columns: readonly string[]) =>
        query<R>(db, `SELECT ${columns.join(', ')} FROM ${table} WHERE ${own.condition}queue_id IN (${values('text')})`, [
          json(queueIds),
        ]);
      return {entries: await of('digest_entry', entryColumns), links: await of('recipient_link', linkColumns)};
    },

    async restore({entries: some, links: made}) {
      await query(db, `${insertOwn(db.dialect, 'digest_entry', entryColumns)} ON CONFLICT DO NOTHING`, [json(some)]);
      await query(db, `${insertOwn(db.dialect, 'recipient_link', linkColumns)} ON CONFLICT DO NOTHING`, [json(made)]);
    },
  };
};

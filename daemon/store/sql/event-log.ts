// Event log: one row for each thing that happened to a mail. What it is found by are words, hashes of 64 bits: ten B-trees would cost
// thirteen times as many bytes written.
import {hash} from 'node:crypto';
import type {TraceFilter} from '../../../shared/hold-filter.ts';
import {comparableAddress, domainOf} from '../../../shared/mail-address.ts';
import {type AccessScope, domainIdsIn} from '../../../shared/scopes.ts';
import {inPieces} from '../../services/events/event-weight.ts';
import {type EventLog, type NewMailEvent, queueIdAtPostfix, type TracePage} from '../../services/events/mail-event.ts';
import {type ChangeEntries, type Db, type Dialect, insertOwn, query} from './db.ts';
import {soughtSubject, writeEntry} from './event-entry.ts';
import {type EventRow, followLog, forgottenUpTo, noteForgotten, orderColumn, toEvent} from './event-stream.ts';
import {foldRecipients, foldSubject} from './held-mail.ts';

/** Of the index of words, merged in one transaction. */
const pagesAtOnce = 8;

/** How far the number of an entry, which is when it was written, is usually ahead of its time, in microseconds: entries wait for others. */
const usualLead = 60_000_000;

export const eventLog = (db: Db): EventLog => {
  const {logger, words} = db.dialect;
  // The table of its sizes is the smallest thing to count.
  const counted = words === 'index' ? 'mail_event_word_docsize' : `mail_event WHERE ${logger.condition}true`;
  return {
    async find(filter, reach, page) {
      const {sql, bindings} = searchOf(db, filter, reach, {page, lead: await leadOf(db, filter)});
      const rows = await query<EventRow>(db, sql, bindings);
      return rows.map(toEvent);
    },
    async handedOver(queueIds) {
      const found = queueIds.flatMap(id => [wordOf('postfixId', id), wordOf('claimedId', id)]);
      const bound = words === 'index' ? found.map(word => `"${word}"`) : found.map(numberOf);
      const rows = await query<EventRow>(db, handedOver(db.dialect), [db.dialect.json(bound)]);
      return rows.map(toEvent);
    },
    async ofNumbers(loggedBy, numbers) {
      const {values, json} = db.dialect;
      const [columns, condition, bound] =
        words === 'index' ? ['', '', []] : [', node_id, logged_by', 'logged_by = ? AND ', [loggedBy]];
      const sql = `SELECT number, at, entry${columns} FROM mail_event WHERE ${condition}number IN (${values('bigint')}) ORDER BY number`;
      const rows = await query<EventRow>(db, sql, [...bound, json(numbers)]);
      return rows.map(toEvent);
    },
    async count() {
      const [row] = await query<{count: number}>(db, `SELECT count(*) AS count FROM ${counted}`);
      return row?.count ?? 0;
    },
    forgottenUpTo: async loggedBy => forgottenUpTo(db, loggedBy),
    follow: async (after, choice) => followLog(db, after, choice),
    append: async events => append(db, events),
    move: async events => insert(db, events),
    async tidy() {
      if (words !== 'index') return false;
      const before = await changesOf(db);
      await query(db, `INSERT INTO mail_event_word (mail_event_word, rank) VALUES ('merge', ${pagesAtOnce})`);
      // By FTS5’s documentation: with less, nothing was merged.
      return (await changesOf(db)) - before >= 2;
    },
    async forget({before, surplus, limit}) {
      const oldest = `SELECT number, at${orderColumn(db)} FROM mail_event WHERE ${logger.condition}true ORDER BY number LIMIT ?`;
      const rows = await query<Pick<EventRow, 'number' | 'at' | 'xid'>>(db, oldest, [limit]);
      const due = rows.filter(({at}, place) => place < surplus || at < microsecondsOf(before));
      const last = due.at(-1);
      if (last === undefined) return 0;
      // Of entries that were logged while the clock was wrong, later ones may be due before earlier ones: they go with these.
      await query(db, `DELETE FROM mail_event WHERE ${logger.condition}number <= ?`, [last.number]);
      if (words === 'index') await query(db, `DELETE FROM mail_event_word WHERE rowid <= ${place}`, [last.number]);
      const count = rows.indexOf(last) + 1;
      await noteForgotten(db, rows.slice(0, count));
      return count;
    },
  };
};

const changesOf = async (db: Db): Promise<number> =>
  (await query<{count: number}>(db, 'SELECT total_changes() AS count'))[0]?.count ?? 0;

/** Writes entries about held mail in the transaction that changes it; see `mailFirst`. */
export const appendToChange = async (tx: Db, events: readonly NewMailEvent[]): Promise<void> => {
  const {ofChanges} = tx.dialect.logger;
  ofChanges.count += events.length;
  if (!ofChanges.areLeftOut) await append(tx, events);
};

interface MailFirst {
  /** Whether the change may succeed without its entries: the disk is full, or the log is damaged. */
  mayBeOfLog(error: unknown): boolean;
  /** Called with the number of entries that a change was made without, and why. */
  onLeftOut(count: number, error: unknown): void;
}

/** Runs a transaction, and again without its entries about held mail where they may be what failed: mail comes first. */
export const mailFirst = async <T>(
  transaction: (entries: ChangeEntries) => Promise<T>,
  {mayBeOfLog, onLeftOut}: MailFirst,
): Promise<T> => {
  const written: ChangeEntries = {areLeftOut: false, count: 0};
  try {
    return await transaction(written);
  } catch (error) {
    if (written.count === 0 || !mayBeOfLog(error)) throw error;
    const leftOut: ChangeEntries = {areLeftOut: true, count: 0};
    const result = await transaction(leftOut);
    onLeftOut(leftOut.count, error);
    return result;
  }
};

const microsecondsOf = (time: string): number => Date.parse(time) * 1000;

const append = async (tx: Db, events: readonly NewMailEvent[]): Promise<void> => {
  if (events.length === 0) return;
  const {logger} = tx.dialect;
  if (logger.numbers.last === 0) {
    const newest = `SELECT number FROM mail_event WHERE ${logger.condition}true ORDER BY number DESC LIMIT 1`;
    const [row] = await query<{number: number}>(tx, newest);
    logger.numbers.last = Math.max(logger.numbers.last, row?.number ?? 0);
  }
  await insert(
    tx,
    events.map(given => {
      const event = logger.keepsSubjects() ? given : {...given, subject: null};
      // Not before now: a number that was given before a backup was restored is not given again to mail that is found once more.
      logger.numbers.last = Math.max(logger.numbers.last + 1, microsecondsOf(event.at), Date.now() * 1000);
      return {...event, number: logger.numbers.last};
    }),
  );
};

type Numbered = NewMailEvent & {number: number};

/** In pieces: all else that this process does goes on between them. */
const insert = async (tx: Db, events: readonly Numbered[]): Promise<void> => {
  for (const piece of inPieces(events)) await insertPiece(tx, piece);
};

const insertPiece = async (tx: Db, events: readonly Numbered[]): Promise<void> => {
  const {dialect} = tx;
  const {logger, words, json} = dialect;
  const columns = ['number', 'at', 'folded_subject', 'entry'];
  const entries = events.map(event => ({row: rowOf(event), found: wordsOf(event)}));
  if (words === 'column') {
    const rows = entries.map(({row, found}) => ({...row, logged_by: logger.name, words: found.map(numberOf)}));
    await query(tx, insertOwn(dialect, 'mail_event', [...columns, 'logged_by', 'words']), [json(rows)]);
    return;
  }
  await query(tx, insertOwn(dialect, 'mail_event', columns), [json(entries.map(({row}) => row))]);
  const indexed = entries.map(({row, found}) => [row.number, [...found, ...trigramsOf(row.folded_subject)].join(' ')]);
  await query(tx, 'INSERT INTO mail_event_word (rowid, words) SELECT value->>0, value->>1 FROM json_each(?)', [json(indexed)]);
};

const rowOf = (event: Numbered) => ({
  number: event.number,
  at: microsecondsOf(event.at),
  // Some characters become several.
  folded_subject: soughtSubject(foldSubject(soughtSubject(event.subject ?? ''))),
  entry: writeEntry(event),
});

/** The kinds of words. What is stored does not change when a kind is renamed here, as long as its letter stays. */
const kinds = {
  queueId: 'q',
  postfixId: 'p',
  /** As a server says, which may say any. */
  claimedId: 'P',
  messageId: 'm',
  recipient: 'r',
  sender: 's',
  senderDomain: 'S',
  from: 'f',
  client: 'c',
  domain: 'd',
  domainId: 'i',
  event: 'e',
} as const;

/** In hexadecimal digits: Node gives each hash as a text three times as fast as in a buffer. */
const wordOf = (kind: keyof typeof kinds, value: string | number): string => hash('sha1', `${kinds[kind]}${value}`).slice(0, 16);
const numberOf = (word: string): string => String(BigInt.asIntN(64, BigInt(`0x${word}`)));

const wordsOf = (event: NewMailEvent): string[] => [
  wordOf('event', event.event),
  ...postfixWord(event),
  ...(event.queue_id === null ? [] : [wordOf('queueId', event.queue_id)]),
  ...(event.message_id === null ? [] : [wordOf('messageId', event.message_id)]),
  ...(event.domain === null ? [] : [wordOf('domain', event.domain)]),
  ...(event.domain_id === null ? [] : [wordOf('domainId', event.domain_id)]),
  ...(event.client === null ? [] : [wordOf('client', event.client.ip)]),
  wordOf('sender', comparableAddress(event.sender)),
  wordOf('senderDomain', domainOf(event.sender) ?? ''),
  ...foldRecipients(event.recipients).map(address => wordOf('recipient', address)),
  ...authorNames(event.from ?? []).map(name => wordOf('from', name)),
];

const postfixWord = (event: NewMailEvent): string[] => {
  const id = queueIdAtPostfix(event);
  return id === undefined ? [] : [wordOf(id === event.queue_id ? 'postfixId' : 'claimedId', id)];
};

/** Addresses, and their domains: a filter names either. */
const authorNames = (from: readonly string[]): string[] => [
  ...new Set(from.flatMap(address => (address.includes('@') ? [address, address.slice(address.lastIndexOf('@') + 1)] : []))),
];

/** The sequences of three characters in a text, each as a word. Whether a subject has them in a row is seen in its row. */
const trigramsOf = (folded: string): string[] => {
  const characters = [...folded];
  return characters.slice(2).map((last, at) => shortHash(`${characters[at]}${characters[at + 1]}${last}`).toString(36));
};

/** FNV-1a over UTF-16 units, folded to 24 bits: a stranger's subject has hundreds, and SHA-1 costs thirty times as much. */
const shortHash = (text: string): number => {
  let sum = 0x811c_9dc5;
  for (let at = 0; at < text.length; at += 1) sum = Math.imul(sum ^ text.charCodeAt(at), 0x0100_0193);
  return (sum >>> 24) ^ (sum & 0xff_ffff);
};

/** All of the groups have to match, of each of them one word. */
const wantedWords = (filter: TraceFilter, reach: AccessScope): string[][] => {
  const {sender, from, address, event} = filter;
  const ids = domainIdsIn(reach);
  return [
    ...(filter.queue_id === undefined ? [] : [[wordOf('queueId', filter.queue_id)]]),
    ...(filter.message_id === undefined ? [] : [[wordOf('messageId', filter.message_id)]]),
    ...(filter.recipient === undefined ? [] : [[wordOf('recipient', filter.recipient)]]),
    ...(sender === undefined ? [] : [[wordOf(sender === '' || sender.includes('@') ? 'sender' : 'senderDomain', sender)]]),
    ...(from === undefined ? [] : [[wordOf('from', from)]]),
    ...(address === undefined ? [] : [(['sender', 'from', 'recipient'] as const).map(kind => wordOf(kind, address))]),
    ...(filter.client === undefined ? [] : [[wordOf('client', filter.client)]]),
    ...(filter.domain === undefined ? [] : [[wordOf('domain', filter.domain)]]),
    ...(event === undefined ? [] : [event.map(name => wordOf('event', name))]),
    ...(ids === undefined ? [] : [ids.map(id => wordOf('domainId', id))]),
  ];
};

/** How far numbers may be ahead of their times: more than usual after the clock was set back, and where old mail was found once more. */
const leadOf = async (db: Db, {until}: TraceFilter): Promise<number> => {
  if (until === undefined) return 0;
  const [row] = await query<{lead: number | null}>(
    db,
    `SELECT max(number - at) AS lead FROM mail_event WHERE number - at > ${usualLead}`,
  );
  return row?.lead ?? usualLead;
};

interface Condition {
  sql: string;
  bindings: (string | number)[];
}

interface Sought {
  page: TracePage;
  lead: number;
}

const searchOf = ({dialect}: Db, filter: TraceFilter, reach: AccessScope, sought: Sought): Condition => {
  const groups = wantedWords(filter, reach);
  // A key without domains finds nothing.
  if (groups.some(group => group.length === 0)) return {sql: 'SELECT 1 LIMIT 0', bindings: []};
  const folded = filter.subject === undefined ? undefined : foldSubject(filter.subject);
  const isIndexed = dialect.words === 'index';
  const matches = [...groups.map(matchOf), ...trigramsOf(folded ?? '').map(token => `"${token}"`)];
  const isByWord = isIndexed && matches.length > 0;
  const number = isByWord ? 'mail_event_word.rowid' : 'number';
  const having = joined([
    ...(isByWord ? [{sql: 'mail_event_word MATCH ?', bindings: [matches.join(' AND ')]}] : []),
    ...(isIndexed ? [] : groups.map(hasWord)),
    ...(isIndexed || filter.node === undefined ? [] : [{sql: 'node_id = ?', bindings: [filter.node]}]),
    ...(folded === undefined ? [] : [{sql: dialect.containing.sql, bindings: [dialect.containing.of(folded)]}]),
  ]);
  const within = joined(placed(number, filter, sought));
  const {limit} = sought.page;
  if (!isIndexed && groups.length > 1 && areAllFrequent(filter)) return searchOfFrequent(having, within, limit);
  const table = isByWord ? 'mail_event_word CROSS JOIN mail_event ON number = mail_event_word.rowid' : 'mail_event';
  const [columns, order] = isIndexed ? ['number, at, entry', `${number} DESC`] : [commonColumns, commonOrder];
  const where = joined([having, within]);
  return {
    sql: `SELECT ${columns} FROM ${table} WHERE ${where.sql} ORDER BY ${order} LIMIT ?`,
    bindings: [...where.bindings, limit],
  };
};

const joined = (conditions: readonly Condition[]): Condition => ({
  sql: conditions.map(({sql}) => sql).join(' AND ') || 'true',
  bindings: conditions.flatMap(({bindings}) => bindings),
});

/** Whether each of the words that are sought may be in a large part of the log. */
const areAllFrequent = ({queue_id, message_id, recipient, address, subject, sender, from}: TraceFilter): boolean =>
  [queue_id, message_id, recipient, address, subject].every(value => value === undefined) &&
  ![sender, from].some(value => value?.includes('@'));

const commonColumns = 'number, at, entry, node_id, logged_by';
const commonOrder = 'number DESC, logged_by';
const newestRead = 100_000;

/**
 * PostgreSQL takes it that frequent words often meet, and reads the log from its end: with words that never meet, all of it. Here, when
 * the newest entries do not fill the page, few have all the words, and the index finds them.
 */
const searchOfFrequent = (having: Condition, within: Condition, limit: number): Condition => ({
  sql: `WITH newest AS MATERIALIZED (
  SELECT ${commonColumns} FROM (
    SELECT ${commonColumns}, words FROM mail_event WHERE ${within.sql} ORDER BY ${commonOrder} LIMIT ${newestRead}
  ) AS last WHERE ${having.sql} ORDER BY ${commonOrder} LIMIT ?
), matching AS MATERIALIZED (
  SELECT ${commonColumns} FROM mail_event WHERE ${having.sql} AND ${within.sql} AND (SELECT count(*) FROM newest) < ?
) SELECT * FROM newest WHERE (SELECT count(*) FROM newest) = ?
UNION ALL SELECT * FROM matching ORDER BY ${commonOrder} LIMIT ?`,
  bindings: [...within.bindings, ...having.bindings, limit, ...having.bindings, ...within.bindings, limit, limit, limit],
});

/** The driver of SQLite binds large numbers as floats, for which its index of words would read all of its rows. */
const place = 'CAST(? AS bigint)';

/** Numbers lead to the place in the log, and times decide. */
const placed = (number: string, {since, until}: TraceFilter, {page: {before}, lead}: Sought): Condition[] => {
  const conditions: Condition[] = [];
  if (since !== undefined) {
    const from = microsecondsOf(since);
    conditions.push({sql: `${number} >= ${place} AND at >= ?`, bindings: [from, from]});
  }
  if (until !== undefined) {
    const to = microsecondsOf(until);
    conditions.push({sql: `${number} < ${place} AND at < ?`, bindings: [to + lead, to]});
  }
  if (!before) return conditions;
  const {number: last, logged_by} = before;
  const isBefore = logged_by === '' ? `${number} < ${place}` : '(number < ? OR (number = ? AND logged_by > ?))';
  conditions.push({sql: isBefore, bindings: logged_by === '' ? [last] : [last, last, logged_by]});
  return conditions;
};

/** Each word has its own limit: what a false server says of an id in many replies must not hide what is true. */
const handedOver = ({words, logger, values}: Dialect): string =>
  words === 'index'
    ? `SELECT number, at, entry FROM json_each(?) AS given CROSS JOIN mail_event WHERE number IN (
  SELECT rowid FROM mail_event_word WHERE mail_event_word MATCH given.value ORDER BY rowid DESC LIMIT 100
) ORDER BY number DESC`
    : `SELECT number, at, entry FROM (${values('bigint')}) AS given (word) CROSS JOIN LATERAL (
  WITH hits AS MATERIALIZED (
    SELECT number, at, entry FROM mail_event WHERE ${logger.condition}words && ARRAY[given.word]
  ) SELECT * FROM hits ORDER BY number DESC LIMIT 100
) AS found ORDER BY number DESC`;

/** PostgreSQL has to see the words when it plans: without them it takes each for frequent, and reads the log from its end to find one mail. */
const hasWord = (words: readonly string[]): Condition => ({
  sql: 'words && CAST(? AS bigint[])',
  bindings: [`{${words.map(numberOf).join()}}`],
});

const matchOf = (words: readonly string[]): string => `(${words.map(word => `"${word}"`).join(' OR ')})`;

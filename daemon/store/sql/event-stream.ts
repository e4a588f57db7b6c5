// Event log in the order in which it grows, for readers that follow it. On SQLite that is the order of the numbers: they are given by the
// only writer. On PostgreSQL several transactions are under way at once, and one with smaller numbers may commit after another one. There
// the order is that of the transactions, and a reader stops before the oldest one that is under way: all before it are over.
import {createCipheriv, createDecipheriv, randomBytes} from 'node:crypto';
import {domainIdsIn} from '../../../shared/scopes.ts';
import type {EventChoice, EventPage, StoredMailEvent} from '../../services/events/mail-event.ts';
import {type Db, type Dialect, query} from './db.ts';
import {readEntry} from './event-entry.ts';

export interface EventRow {
  number: number;
  /** The transaction, in a store that all nodes share. */
  xid?: string;
  at: number;
  entry: string;
  node_id?: string;
  logged_by?: string;
}

export const toEvent = ({at, entry, xid: _, ...row}: EventRow): StoredMailEvent => ({
  ...readEntry(entry),
  ...row,
  at: new Date(at / 1000).toISOString(),
});

/** `xid` is 0 where the numbers alone give the order. */
interface Position {
  xid: bigint;
  number: number;
}

type OrderedRow = Omit<EventRow, 'entry'> & {
  /** Null when it is not wanted. */
  entry: string | null;
};

const start: Position = {xid: 0n, number: 0};

const isCommon = ({words}: Dialect): boolean => words === 'column';

/** A column for `noteForgotten`, after others. */
export const orderColumn = ({dialect}: Db): string => (isCommon(dialect) ? ', xid::text AS xid' : '');

/** The number of a transaction of this server in the order of the log, see `takeOverRows`. */
const inLog = (transaction: string): string => `(SELECT mail_event_order(${transaction}))`;
const underWay = inLog('pg_snapshot_xmin(pg_current_snapshot())');
const over = `xid < ${underWay}`;

export const followLog = async (db: Db, after: string | undefined, choice: EventChoice): Promise<EventPage> => {
  if (after === undefined) return atEnd(db, false);
  const {epoch: known} = await readLog(db);
  const from = await positionOf(db, after, {epoch: known, ...choice});
  if (from === undefined) return atEnd(db, true);
  // First, as what is under way now may be over when it is read.
  const isAhead = await isWaiting(db);
  const rows = await rowsAfter(db, from.position, choice);
  // Last, as entries may have gone before they were read.
  const {epoch, floor} = await readLog(db, choice.loggedBy);
  if (!from.isTime && !(epoch === known && (await isThere(db, {from: from.position, floor, choice})))) return atEnd(db, true);
  const last = rows.at(-1);
  const own = rows.filter(({logged_by}) => logged_by === undefined || logged_by === choice.loggedBy);
  const placeOf = (row: Pick<EventRow, 'xid' | 'number'>) => written(epoch, asPosition(row));
  return {
    entries: rows.flatMap(({entry, ...row}) => (entry === null ? [] : [{place: placeOf(row), entry: toEvent({...row, entry})}])),
    // Written anew: one that stays as it is would tell that others have no mail either.
    place: last ? placeOf(last) : from.isTime ? after : written(epoch, from.position),
    hasRead: last !== undefined,
    last: own.length === 0 ? undefined : Math.max(...own.map(({number}) => number)),
    isGap: false,
    hasMore: rows.length === choice.limit,
    isWaiting: isAhead,
  };
};

const atEnd = async (db: Db, isGap: boolean): Promise<EventPage> => {
  const [where, order] = isCommon(db.dialect) ? [`WHERE ${over}`, 'xid DESC, number DESC'] : ['', 'number DESC'];
  const isAhead = await isWaiting(db);
  const sql = `SELECT number${orderColumn(db)} FROM mail_event ${where} ORDER BY ${order} LIMIT 1`;
  const [newest] = await query<Pick<EventRow, 'xid' | 'number'>>(db, sql);
  const {epoch, floor} = await readLog(db);
  const place = written(epoch, newest ? later(asPosition(newest), floor) : floor);
  return {entries: [], place, hasRead: false, last: undefined, isGap, hasMore: false, isWaiting: isAhead};
};

const isWaiting = async (db: Db): Promise<boolean> => isCommon(db.dialect) && exists(db, `xid >= ${underWay}`, []);

const rowsAfter = async (
  db: Db,
  {xid, number}: Position,
  {events, reach, loggedBy, limit}: EventChoice,
): Promise<OrderedRow[]> => {
  const {dialect} = db;
  const {json, values} = dialect;
  const ids = domainIdsIn(reach);
  const member = (at: number) => (isCommon(dialect) ? `entry::json->>${at}` : `entry->>'$[${at}]'`);
  const isWanted = [`${member(0)} IN (${values('text')})`];
  if (ids !== undefined) isWanted.push(`${isCommon(dialect) ? `(${member(4)})::bigint` : member(4)} IN (${values('bigint')})`);
  const loggers = loggedBy !== undefined && isCommon(dialect) ? [loggedBy] : [];
  if (loggers.length > 0) isWanted.push('logged_by = ?');
  const wanted = [json([...events]), ...(ids === undefined ? [] : [json([...ids])]), ...loggers];
  const entry = `CASE WHEN ${isWanted.join(' AND ')} THEN entry END AS entry`;
  if (!isCommon(dialect)) {
    const sql = `SELECT number, at, ${entry} FROM mail_event WHERE number > ? ORDER BY number LIMIT ?`;
    return query(db, sql, [...wanted, number, limit]);
  }
  const sql = `SELECT number, at, node_id, logged_by, xid::text AS xid, ${entry} FROM mail_event
WHERE (xid, number) > (?::xid8, ?::bigint) AND ${over} ORDER BY mail_event.xid, number LIMIT ?`;
  return query(db, sql, [...wanted, String(xid), number, limit]);
};

interface From {
  from: Position;
  floor: Position;
  choice: EventChoice;
}

/** What was read up to a place is what the log has up to it. */
const isThere = async (db: Db, {from, floor, choice: {loggedBy}}: From): Promise<boolean> => {
  if (inOrder(from, floor) <= 0) return inOrder(from, floor) === 0;
  if (!isCommon(db.dialect)) return exists(db, 'number = ?', [from.number]);
  // The entry before it may be that of another node, which removes its own.
  return loggedBy !== undefined || exists(db, 'xid = ?::xid8 AND number = ?', [String(from.xid), from.number]);
};

const exists = async (db: Db, condition: string, bindings: (string | number)[]): Promise<boolean> =>
  (await query(db, `SELECT 1 AS one FROM mail_event WHERE ${condition} LIMIT 1`, bindings)).length > 0;

/** Undefined for what is no place in this log. */
const positionOf = async (
  db: Db,
  place: string,
  {epoch, loggedBy}: {epoch: string; loggedBy?: string},
): Promise<{isTime: boolean; position: Position} | undefined> => {
  if (place.startsWith('@')) {
    const time = Number.parseInt(place.slice(1), 36);
    return Number.isSafeInteger(time) ? {isTime: true, position: await positionAt(db, time, loggedBy)} : undefined;
  }
  const position = readPlace(epoch, place);
  return position && {isTime: false, position};
};

/** An entry may be committed this long after others of its node with larger numbers. */
const longestTransactionMicroseconds = 60_000_000;

/**
 * Numbers are times. On PostgreSQL, before the first transaction with a later one: what was under way then comes once too often. Of the log
 * of one node nothing is passed over, also where it was moved here after others.
 */
const positionAt = async (db: Db, number: number, loggedBy?: string): Promise<Position> => {
  if (!isCommon(db.dialect)) return {xid: 0n, number};
  const [isLater, bound] =
    loggedBy === undefined
      ? ['number > ?', [number]]
      : ['logged_by = ? AND number > ?', [loggedBy, number - longestTransactionMicroseconds]];
  const next = `SELECT xid FROM mail_event WHERE ${isLater} ORDER BY number LIMIT 1000`;
  const sql = `SELECT xid::text AS xid FROM (${next}) AS later ORDER BY later.xid LIMIT 1`;
  const [first] = await query<{xid: string}>(db, sql, bound);
  if (!first) return (await readEnd(db)) ?? start;
  const xid = BigInt(first.xid);
  return xid === 0n ? {xid, number} : {xid: xid - 1n, number: Number.MAX_SAFE_INTEGER};
};

/** The end of what can be read now; what is under way is later than any time that has passed. */
const readEnd = async (db: Db): Promise<Position | undefined> => {
  const sql = `SELECT number${orderColumn(db)} FROM mail_event WHERE ${over} ORDER BY mail_event.xid DESC, number DESC LIMIT 1`;
  const [newest] = await query<Pick<EventRow, 'xid' | 'number'>>(db, sql);
  return newest && asPosition(newest);
};

const asPosition = ({xid = '0', number}: Pick<EventRow, 'xid' | 'number'>): Position => ({xid: BigInt(xid), number});

const cipher = 'aes-256-gcm';
const nonceBytes = 12;
const tagBytes = 16;

/**
 * Encrypted, with the epoch as the key: numbers are times, and a key that may see one domain must not learn when mail of others came. With
 * another nonce each time, also that nothing came is not seen.
 */
const written = (epoch: string, {xid, number}: Position): string => {
  const nonce = randomBytes(nonceBytes);
  const encryption = createCipheriv(cipher, keyOf(epoch), nonce);
  const plain = Buffer.alloc(16);
  plain.writeBigUInt64BE(xid, 0);
  plain.writeBigUInt64BE(BigInt(number), 8);
  return Buffer.concat([nonce, encryption.update(plain), encryption.final(), encryption.getAuthTag()]).toString('base64url');
};

/** Undefined for what was not written in this epoch, or is damaged. */
const readPlace = (epoch: string, place: string): Position | undefined => {
  const bytes = Buffer.from(place, 'base64url');
  if (bytes.length !== nonceBytes + 16 + tagBytes) return undefined;
  const decryption = createDecipheriv(cipher, keyOf(epoch), bytes.subarray(0, nonceBytes), {authTagLength: tagBytes});
  decryption.setAuthTag(bytes.subarray(-tagBytes));
  try {
    const plain = Buffer.concat([decryption.update(bytes.subarray(nonceBytes, -tagBytes)), decryption.final()]);
    return {xid: plain.readBigUInt64BE(0), number: Number(plain.readBigUInt64BE(8))};
  } catch {
    return undefined;
  }
};

const keyOf = (epoch: string): Buffer => Buffer.from(epoch, 'hex');

const inOrder = (one: Position, other: Position): number =>
  one.xid === other.xid ? one.number - other.number : one.xid < other.xid ? -1 : 1;

const later = (one: Position, other: Position): Position => (inOrder(one, other) >= 0 ? one : other);

/** `floor`: the last entry that is gone, of all nodes or of one. */
const readLog = async (db: Db, loggedBy?: string): Promise<{epoch: string; floor: Position}> => {
  const rows = await query<{name: string; value: string}>(db, 'SELECT name, value FROM mail_event_log');
  const isWanted = (name: string) => (loggedBy === undefined ? name.startsWith(floorName) : name === floorOf(db, loggedBy));
  const floors = rows.filter(({name}) => isWanted(name)).map(({value}) => floorIn(value));
  return {epoch: rows.find(({name}) => name === 'epoch')?.value ?? '', floor: floors.reduce(later, start)};
};

/** Followed by the name of the node: two that write one row would wait for each other. */
const floorName = 'floor:';

const floorOf = ({dialect}: Db, loggedBy: string): string => (isCommon(dialect) ? `${floorName}${loggedBy}` : floorName);

const floorIn = (value: string): Position => {
  const [xid = '0', number = '0'] = value.split('.');
  return {xid: BigInt(xid), number: Number(number)};
};

const writing = 'INSERT INTO mail_event_log (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value';

/** In the transaction that removes these entries. */
export const noteForgotten = async (tx: Db, gone: readonly Pick<EventRow, 'xid' | 'number'>[]): Promise<void> => {
  const name = `${floorName}${tx.dialect.logger.name}`;
  const [row] = await query<{value: string}>(tx, 'SELECT value FROM mail_event_log WHERE name = ?', [name]);
  const {xid, number} = gone.map(asPosition).reduce(later, row ? floorIn(row.value) : start);
  await query(tx, writing, [name, `${xid}.${number}`]);
};

export const forgottenUpTo = async (db: Db, loggedBy: string): Promise<number> => {
  const sql = 'SELECT value FROM mail_event_log WHERE name = ?';
  const [row] = await query<{value: string}>(db, sql, [floorOf(db, loggedBy)]);
  return row ? floorIn(row.value).number : 0;
};

/** For a log that was restored from a backup: places in it that were given since are not in it. */
export const renewEpoch = async (tx: Db): Promise<void> =>
  void (await query(tx, writing, ['epoch', randomBytes(32).toString('hex')]));

/**
 * The rows of a server whose transactions had larger numbers were moved here, by a dump or a replication of rows: they come before all of
 * this one, whose transactions are counted from the last of them on. The rows stay as they are: there may be millions.
 */
export const takeOverRows = async (tx: Db): Promise<void> => {
  const next = inLog('pg_snapshot_xmax(pg_current_snapshot())');
  const [newest] = await query<{xid: string; next: string}>(
    tx,
    `SELECT coalesce((SELECT xid FROM mail_event ORDER BY mail_event.xid DESC LIMIT 1), '0')::text AS xid, ${next}::text AS next`,
  );
  if (!newest) return;
  const {floor} = await readLog(tx);
  const last = BigInt(newest.xid) > floor.xid ? BigInt(newest.xid) : floor.xid;
  if (last < BigInt(newest.next)) return;
  await query(tx, writing, ['base', String(last)]);
  await renewEpoch(tx);
};

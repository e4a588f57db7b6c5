// Copy of a damaged database into a new one: each table from its beginning to the first unreadable row. Data derived from other
// rows is not copied, but rebuilt.
import type {Knex} from 'knex';
import {mailEvents} from '../../../shared/mail-event-name.ts';
import {heldStates} from '../../services/quarantine/stored-mail.ts';
import {eventLog} from '../sql/event-log.ts';
import {type EventRow, toEvent} from '../sql/event-stream.ts';
import {type HeldMailRow, rowToHeldMail} from '../sql/held-mail.ts';
import {holdStore} from '../sql/hold-store.ts';
import {type ProgressRow, rowToProgress, webhookStore} from '../sql/webhook-store.ts';
import {type Database, openDatabase, openForReading} from './database.ts';
import type {SqliteDb} from './query.ts';

/** Tables that are not derived from others. */
const tables = [
  'local_state',
  'config_record',
  'outbox',
  'applied',
  'audit',
  'key_use',
  'peer_report',
  'join_token',
  'issued_name',
  'held_mail',
  'held_recipient_act',
  'digest_round',
  'digest_entry',
  'recipient_link',
  'recipient_request',
  'dmarc_count',
  'dmarc_report',
  'dmarc_refusal',
  'dmarc_received',
  'dmarc_received_source',
  'webhook_progress',
  'webhook_delivery',
] as const;

/** Of these, the tables that databases of earlier versions do not have. */
const added: readonly string[] = tables.filter(table => /^(dmarc|webhook|held_recipient|digest|recipient)_/.test(table));

export interface ReadableRows {
  /** Number of copied rows, by table. */
  rows: Record<string, number>;
  /** Tables with unreadable rows, or with rows of another table. */
  incomplete: string[];
  /** The event log, from both of its ends to the damage. */
  log: ReadableLog;
}

interface ReadableLog {
  copied: number;
  isWhole: boolean;
  /** Of the entries that were copied, ISO 8601; undefined without any. */
  oldest?: string;
  newest?: string;
}

/** Copies from the file `from`, which may be damaged, into a new database in the file `to`. */
export const copyReadableRows = async (from: string, to: string): Promise<ReadableRows> => {
  const into = await openDatabase(to);
  const reader = openForReading(from);
  try {
    const tables = await copyTables(reader, into);
    const log = await copyLog(reader, into);
    return {...tables, rows: {...tables.rows, mail_event: log.copied}, log};
  } finally {
    await reader.destroy();
    await into.close();
  }
};

const copyTables = async (from: Knex, into: Database): Promise<Omit<ReadableRows, 'log'>> => {
  const report: Omit<ReadableRows, 'log'> = {rows: {}, incomplete: []};
  for (const table of tables) {
    if (added.includes(table) && !(await hasTable(from, table))) continue;
    const isOfTable = await rowCheck(into.read, table);
    const put = async (tx: SqliteDb, rows: Row[]): Promise<void> => {
      for (const row of rows) {
        if (!isOfTable(row)) throw new Error(`no row of ${table}`);
        if (table === 'held_mail') await putHeldMail(tx, row);
        else if (table === 'webhook_progress') await putProgress(tx, row);
        else await tx(table).insert(row);
      }
    };
    let [read, copied] = [0, 0];
    const {isWhole} = await eachRow(from, table, async rows => {
      read += rows.length;
      copied += await putAll(into, rows, put);
    });
    report.rows[table] = copied;
    if (!isWhole || copied < read) report.incomplete.push(table);
  }
  return report;
};

const copyLog = async (from: Knex, into: Database): Promise<ReadableLog> => {
  const log: ReadableLog = {copied: 0, isWhole: true};
  if (!(await hasTable(from, 'mail_event'))) return log;
  const isOfTable = await rowCheck(into.read, 'mail_event');
  const put = async (tx: SqliteDb, rows: Row[]): Promise<void> => {
    if (!rows.every(isOfTable)) throw new Error('no row of mail_event');
    const events = rows.map(row => toEvent(row as unknown as EventRow));
    if (!events.every(({event}) => mailEvents.includes(event))) throw new Error('no entry of the event log');
    await eventLog(tx).move(events);
    for (const {at} of events) {
      log.oldest = log.oldest === undefined || at < log.oldest ? at : log.oldest;
      log.newest = log.newest === undefined || at > log.newest ? at : log.newest;
    }
  };
  const take = async (rows: Row[]): Promise<void> => {
    const copied = await putAll(into, rows, put);
    log.copied += copied;
    log.isWhole &&= copied === rows.length;
  };
  const {isWhole, last} = await eachRow(from, 'mail_event', take);
  // The newest entries matter most.
  if (!isWhole) await eachRow(from, 'mail_event', take, {downTo: last});
  return {...log, isWhole: log.isWhole && isWhole};
};

const hasTable = async (db: Knex, table: string): Promise<boolean> => db.schema.hasTable(table).catch(() => true);

type Row = Record<string, unknown>;

/** A misplaced page has the rows of another table, and SQLite accepts any value in any column. */
const rowCheck = async (db: SqliteDb, table: string): Promise<(row: Row) => boolean> => {
  const columns = await db.raw<{name: string; type: string}[]>(`PRAGMA table_info(${table})`);
  return row => columns.every(({name, type}) => row[name] === null || row[name] === undefined || isOfType(type, row[name]));
};

const isOfType = (type: string, value: unknown): boolean => {
  if (/int/i.test(type)) return Number.isInteger(value);
  if (/char|text/i.test(type)) return typeof value === 'string';
  return /real|float|double/i.test(type) ? typeof value === 'number' : true;
};

const rowsAtOnce = 500;

/**
 * Stops at a row that cannot be read: rows after it are not copied. `last` is the number of the row before it. With `downTo` it
 * begins at the other end, and reads as far as that row.
 */
const eachRow = async (
  from: Knex,
  table: string,
  take: (rows: Row[]) => Promise<void>,
  {downTo}: {downTo?: number} = {},
): Promise<{isWhole: boolean; last: number}> => {
  const [sign, order] = downTo === undefined ? ([1, 'asc'] as const) : ([-1, 'desc'] as const);
  let last = sign * Number.MIN_SAFE_INTEGER;
  for (let limit = rowsAtOnce; ; ) {
    const query = from(table)
      .select('*', {row_number: from.raw('rowid')})
      .where('rowid', sign > 0 ? '>' : '<', last)
      .andWhere('rowid', '>', downTo ?? Number.MIN_SAFE_INTEGER)
      .orderBy('rowid', order)
      .limit(limit);
    const rows = await (query as Promise<Row[]>).catch(() => undefined);
    if (rows?.length === 0) return {isWhole: true, last};
    const next = Number(rows?.at(-1)?.row_number);
    // If row numbers are damaged, so is the order.
    if (rows && sign * next > sign * last) {
      await take(rows.map(({row_number: _, ...row}) => row));
      last = next;
    } else if (limit === 1) return {isWhole: false, last};
    else limit = 1;
  }
};

/** A row that the new table rejects is skipped as damaged. */
const putAll = async (into: Database, rows: Row[], put: (tx: SqliteDb, rows: Row[]) => Promise<void>): Promise<number> => {
  let taken = 0;
  const some = async (part: Row[]): Promise<void> => {
    try {
      await into.transaction(async tx => put(tx, part));
      taken += part.length;
    } catch {
      if (part.length > 1) for (const row of part) await some([row]);
    }
  };
  await some(rows);
  return taken;
};

const putHeldMail = async (tx: SqliteDb, row: Row): Promise<void> => {
  const {state, acted_at, acted_by_key_id, ...mail} = rowToHeldMail(row as unknown as HeldMailRow);
  if (!heldStates.includes(state)) throw new Error(`no state: ${state}`);
  const hold = holdStore(tx);
  await hold.insert([mail], 'moved');
  // An action in progress was never finished, so the mail is still held.
  if (state === 'held' || state === 'releasing' || state === 'discarding') return;
  await hold.end([mail.queue_id], 'held', {state, at: acted_at ?? mail.arrived_at, keyId: acted_by_key_id}, 'moved');
};

const putProgress = async (tx: SqliteDb, row: Row): Promise<void> =>
  webhookStore(tx).save(rowToProgress(row as unknown as ProgressRow));

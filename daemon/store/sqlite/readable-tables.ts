// Readable tables: one row for each live configuration record, in the form in which it is read.

import type {Knex} from 'knex';
import type {Differences, IdRange, ReadableRow} from '../../services/node-store.ts';
import {heldStates} from '../../services/quarantine/stored-mail.ts';
import type {Kind, Readable} from '../../services/records.ts';
import {type Database, type Db, openDatabase, openForReading} from './database.ts';
import {type HeldMailRow, rowToHeldMail} from './held-mail.ts';
import {holdStore} from './hold-store.ts';
import {query} from './query.ts';

/** The columns of each kind whose values together must be unique. Each kind has a table with its name. */
const uniqueColumns: Record<Kind, readonly string[]> = {
  node: [],
  domain: ['name'],
  api_key: ['key_hash'],
  mail_filter: [],
  dkim_key: ['domain_id', 'selector'],
};

/** Members that are not plain values are stored as JSON. */
const toRow = (record: Readable): ReadableRow =>
  Object.fromEntries(
    Object.entries(record).map(([name, value]) => [name, isJson(name, value) ? JSON.stringify(value) : value]),
  ) as ReadableRow;

const isJson = (name: string, value: unknown): boolean => name === 'tenant_id' || Array.isArray(value);

export const showRecords = async (tx: Db, kind: Kind, records: readonly Readable[]): Promise<void> => {
  // Not bound as JSON: SQLite reads a number in JSON with less precision than it was written.
  for (const row of records.map(toRow)) {
    const columns = Object.keys(row);
    const updates = columns.map(column => `${column} = excluded.${column}`).join(', ');
    const sql = `INSERT INTO ${kind} (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')}) ON CONFLICT (id) DO UPDATE SET ${updates}`;
    await query(tx, sql, Object.values(row));
  }
};

export const hideRecords = async (tx: Db, kind: Kind, ids: readonly number[]): Promise<void> => {
  const gone = JSON.stringify(ids);
  await query(tx, `DELETE FROM ${kind} WHERE id IN (SELECT value FROM json_each(?))`, [gone]);
  if (kind === 'api_key') await query(tx, 'DELETE FROM key_use WHERE key_id IN (SELECT value FROM json_each(?))', [gone]);
};

export const restoreRecords = async (tx: Db, kind: Kind, records: readonly Readable[]): Promise<void> => {
  const unique = uniqueColumns[kind];
  for (const row of unique.length > 0 ? records.map(toRow) : []) {
    const isTaken = unique.map(column => `${column} = ?`).join(' AND ');
    await query(tx, `DELETE FROM ${kind} WHERE ${isTaken} AND id <> ?`, [...unique.map(column => plain(row[column])), row.id]);
  }
  await showRecords(tx, kind, records);
};

export const compareShown = async (
  db: Db,
  kind: Kind,
  {after, upTo}: IdRange,
  records: readonly Readable[],
): Promise<Differences> => {
  const range = upTo === undefined ? {sql: '', values: []} : {sql: ' AND id <= ?', values: [upTo]};
  const rows = await query<ReadableRow>(db, `SELECT * FROM ${kind} WHERE id > ?${range.sql}`, [after, ...range.values]);
  const wrong = new Map(rows.map(row => [Number(row.id), row]));
  const missing = records.filter(record => {
    const row = wrong.get(record.id);
    const isRight = row !== undefined && isSame(toRow(record), row);
    if (isRight) wrong.delete(record.id);
    return !isRight;
  });
  return {missing, wrong: [...wrong.values()].map(row => ({...row, id: Number(row.id)}))};
};

const isSame = (wanted: ReadableRow, found: ReadableRow): boolean =>
  Object.entries(wanted).every(([column, value]) => plain(value) === plain(found[column]));

/** Booleans become text, as SQLite has none. */
const plain = (value: ReadableRow[string] | undefined): string | null =>
  value === null || value === undefined ? null : String(typeof value === 'boolean' ? Number(value) : value);

// Copy of a damaged database into a new one: each table from its beginning to the first unreadable row. Data derived from other
// rows is not copied, but rebuilt.

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
] as const;

export interface ReadableRows {
  /** Number of copied rows, by table. */
  rows: Record<string, number>;
  /** Tables with unreadable rows, or with rows of another table. */
  incomplete: string[];
}

/** Copies from the file `from`, which may be damaged, into a new database in the file `to`. */
export const copyReadableRows = async (from: string, to: string): Promise<ReadableRows> => {
  const into = await openDatabase(to);
  const reader = openForReading(from);
  try {
    return await copyTables(reader, into);
  } finally {
    await reader.destroy();
    await into.close();
  }
};

const copyTables = async (from: Knex, into: Database): Promise<ReadableRows> => {
  const report: ReadableRows = {rows: {}, incomplete: []};
  for (const table of tables) {
    const isOfTable = await rowCheck(into.read, table);
    const put = async (tx: Db, row: Row): Promise<void> => {
      if (!isOfTable(row)) throw new Error(`no row of ${table}`);
      await (table === 'held_mail' ? putHeldMail(tx, row) : tx(table).insert(row));
    };
    let [read, copied] = [0, 0];
    const isWhole = await eachRow(from, table, async rows => {
      read += rows.length;
      copied += await putAll(into, rows, put);
    });
    report.rows[table] = copied;
    if (!isWhole || copied < read) report.incomplete.push(table);
  }
  return report;
};

type Row = Record<string, unknown>;

/** A misplaced page has the rows of another table, and SQLite accepts any value in any column. */
const rowCheck = async (db: Db, table: string): Promise<(row: Row) => boolean> => {
  const columns = await db.raw<{name: string; type: string}[]>(`PRAGMA table_info(${table})`);
  return row => columns.every(({name, type}) => row[name] === null || row[name] === undefined || isOfType(type, row[name]));
};

const isOfType = (type: string, value: unknown): boolean => {
  if (/int/i.test(type)) return Number.isInteger(value);
  if (/char|text/i.test(type)) return typeof value === 'string';
  return /real|float|double/i.test(type) ? typeof value === 'number' : true;
};

const rowsAtOnce = 500;

/** False when a row could not be read; rows after it are not copied. */
const eachRow = async (from: Knex, table: string, take: (rows: Row[]) => Promise<void>): Promise<boolean> => {
  let last = Number.MIN_SAFE_INTEGER;
  for (let limit = rowsAtOnce; ; ) {
    const query = from(table)
      .select('*', {row_number: from.raw('rowid')})
      .where('rowid', '>', last)
      .orderBy('rowid')
      .limit(limit);
    const rows = await (query as Promise<Row[]>).catch(() => undefined);
    if (rows?.length === 0) return true;
    const next = Number(rows?.at(-1)?.row_number);
    // If row numbers are damaged, so is the order.
    if (rows && next > last) {
      await take(rows.map(({row_number: _, ...row}) => row));
      last = next;
    } else if (limit === 1) return false;
    else limit = 1;
  }
};

/** A row that the new table rejects is skipped as damaged. */
const putAll = async (into: Database, rows: Row[], put: (tx: Db, row: Row) => Promise<void>): Promise<number> => {
  let taken = 0;
  const some = async (part: Row[]): Promise<void> => {
    try {
      await into.transaction(async tx => {
        for (const row of part) await put(tx, row);
      });
      taken += part.length;
    } catch {
      if (part.length > 1) for (const row of part) await some([row]);
    }
  };
  await some(rows);
  return taken;
};

const putHeldMail = async (tx: Db, row: Row): Promise<void> => {
  const {state, acted_at, acted_by_key_id, ...mail} = rowToHeldMail(row as unknown as HeldMailRow);
  if (!heldStates.includes(state)) throw new Error(`no state: ${state}`);
  const hold = holdStore(tx);
  await hold.insert([mail]);
  // An action in progress was never finished, so the mail is still held.
  if (state === 'held' || state === 'releasing' || state === 'discarding') return;
  await hold.end([mail.queue_id], 'held', {state, at: acted_at ?? mail.arrived_at, keyId: acted_by_key_id});
};

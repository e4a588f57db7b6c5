// Readable tables: one row for each live configuration record, in the form in which it is read.

import type {Differences, IdRange, ReadableRow} from '../../services/node-store.ts';
import type {Kind, Readable} from '../../services/records.ts';
import {type Db, query} from './db.ts';

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
  const {values, json} = tx.dialect;
  await query(tx, `DELETE FROM ${kind} WHERE id IN (${values('bigint')})`, [json(ids)]);
  if (kind === 'api_key') await query(tx, `DELETE FROM key_use WHERE key_id IN (${values('bigint')})`, [json(ids)]);
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

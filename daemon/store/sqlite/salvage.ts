// What can be read of a damaged database, put into a new one, table by table and row by row. What follows from other rows is not
// copied: it is worked out anew.
import type {Knex} from 'knex';
import type {Database, Db} from './database.ts';
import {endLife, type HeldMailRow, heldStates, insertHeldMails, rowToHeldMail} from './held-mail.ts';

/** Tables whose rows follow from no other. */
const truths = ['local_state', 'config_record', 'outbox', 'applied', 'audit', 'key_use', 'peer_report', 'join_token'] as const;

export interface Salvage {
  /** Rows that were read, by table. */
  rows: Record<string, number>;
  /** Tables of which some rows could not be read, or were none. */
  holed: string[];
}

/** `from` may be any file at all. */
export const salvage = async (from: Knex, into: Database): Promise<Salvage> => {
  const report: Salvage = {rows: {}, holed: []};
  for (const table of [...truths, 'held_mail']) {
    const isOfTable = await rowCheck(into.read, table);
    const put = async (tx: Db, row: Row): Promise<void> => {
      if (!isOfTable(row)) throw new Error(`no row of ${table}`);
      await (table === 'held_mail' ? putHeldMail(tx, row) : putRow(tx, table, row));
    };
    let [read, taken] = [0, 0];
    const isWhole = await eachRow(from, table, async some => {
      read += some.length;
      taken += await putAll(into, some, put);
    });
    report.rows[table] = taken;
    if (!isWhole || taken < read) report.holed.push(table);
  }
  return report;
};

type Row = Record<string, unknown>;

/** Of a page in the place of another one the rows are those of another table, and SQLite takes any value in any column. */
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

/** From both ends towards what cannot be read; false when there was such a place. */
const eachRow = async (from: Knex, table: string, take: (rows: Row[]) => Promise<void>): Promise<boolean> => {
  const low = await walk(from, table, {order: 'asc', until: undefined, take});
  if (low.isEnd) return true;
  await walk(from, table, {order: 'desc', until: low.last, take});
  return false;
};

interface Walk {
  order: 'asc' | 'desc';
  /** Rows up to this one have been read from the other end. */
  until: number | undefined;
  take(rows: Row[]): Promise<void>;
}

const walk = async (
  from: Knex,
  table: string,
  {order, until, take}: Walk,
): Promise<{isEnd: boolean; last: number | undefined}> => {
  let last: number | undefined;
  let limit = rowsAtOnce;
  for (;;) {
    const query = from(table)
      .select('*', {row_number: from.raw('rowid')})
      .orderBy('rowid', order)
      .limit(limit);
    if (last !== undefined) void query.where('rowid', order === 'asc' ? '>' : '<', last);
    if (until !== undefined) void query.where('rowid', '>', until);
    const rows = await (query as Promise<Row[]>).catch(() => undefined);
    if (!rows && limit === 1) return {isEnd: false, last};
    if (!rows) limit = Math.max(1, Math.floor(limit / 8));
    else if (rows.length === 0) return {isEnd: true, last};
    else {
      await take(rows.map(({row_number: _, ...row}) => row));
      const next = Number(rows.at(-1)?.row_number);
      // Where the number of a row is damaged, the order is too, and what comes behind it may be what has been read before.
      if (!isBeyond(next, last, order)) return {isEnd: false, last};
      last = next;
    }
  }
};

const isBeyond = (row: number, last: number | undefined, order: Walk['order']): boolean =>
  last === undefined || (order === 'asc' ? row > last : row < last);

/** A row that the new table does not take is one that was damaged. */
const putAll = async (into: Database, rows: Row[], put: (tx: Db, row: Row) => Promise<void>): Promise<number> => {
  let taken = 0;
  const some = async (part: Row[]): Promise<void> => {
    try {
      await into.write.transaction(async tx => {
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

const putRow = async (tx: Db, table: string, row: Row): Promise<void> => {
  await tx(table).insert(row);
};

const putHeldMail = async (tx: Db, row: Row): Promise<void> => {
  const {state, acted_at, acted_by_key_id, ...mail} = rowToHeldMail(row as unknown as HeldMailRow);
  if (!heldStates.includes(state)) throw new Error(`no state: ${state}`);
  await insertHeldMails(tx, [mail]);
  // An action that was under way is one that nobody finished.
  if (state === 'held' || state === 'releasing' || state === 'discarding') return;
  await endLife(tx, mail.queue_id, 'held', {state, at: acted_at ?? mail.arrived_at, keyId: acted_by_key_id});
};

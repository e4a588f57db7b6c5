// Many rows at a time: SQLite takes a limited number of values in one statement.
import type {Db} from './database.ts';
import {type Procedure, preparedIn} from './prepared.ts';

const rowsPerStatement = 100;
/** Of one value each. */
export const idsPerStatement = 1000;

export const chunksOf = <T>(items: readonly T[], size = rowsPerStatement): T[][] =>
  Array.from({length: Math.ceil(items.length / size)}, (_, n) => items.slice(n * size, (n + 1) * size));

/** A table that shows live configuration records of one kind in the shape they are read in. */
export interface RecordTable<R extends {id: number}> {
  put(db: Db, records: readonly R[]): Promise<void>;
  /** What reading the row of `record` gives. */
  read(record: R): R;
  remove(db: Db, ids: readonly number[]): Promise<void>;
  /** Where the rows with ids after `after`, up to `upTo` where that is given, do not say what `records` say. */
  compare(db: Db, range: IdRange, records: readonly R[]): Promise<Differences<R>>;
  /** Puts `records` even where other rows wrongly have what only one may have. */
  restore(db: Db, records: readonly R[]): Promise<void>;
}

export interface IdRange {
  after: number;
  upTo: number | undefined;
}

export interface Differences<R> {
  /** Whose row is missing or says something else. */
  missing: R[];
  /** Rows that no record stands behind, and those that say something else. */
  wrong: Row[];
}

type Value = string | number | boolean | null;
export type Row = Record<string, Value> & {id: number};

interface Needs<R> {
  name: string;
  toRow(record: R): Row;
  /** Where a row reads in another order, or otherwise, than the record that it was made of. */
  read?(record: R): R;
  /** The columns whose values together only one row may have. */
  unique?: (keyof R & string)[];
}

export const recordTable = <R extends {id: number}>({
  name,
  toRow,
  read = record => record,
  unique = [],
}: Needs<R>): RecordTable<R> => {
  const table: RecordTable<R> = {
    read,

    async put(db, records) {
      const rows = records.map(toRow);
      const columns = Object.keys(rows[0] ?? {});
      const prepared = preparedIn(db);
      for (let from = 0; from < rows.length; ) {
        const size = rowsTogether.find(one => one <= rows.length - from) ?? 1;
        const some = rows.slice(from, from + size);
        await prepared.run(
          putting(name, columns, size),
          some.flatMap(row => columns.map(column => bound(row[column]))),
        );
        from += size;
      }
    },

    async remove(db, ids) {
      for (const some of chunksOf(ids)) await db(name).whereIn('id', some).delete();
    },

    async compare(db, {after, upTo}, records) {
      const rows: Row[] = await db(name)
        .where('id', '>', after)
        .modify(query => {
          if (upTo !== undefined) void query.where('id', '<=', upTo);
        });
      const wrong = new Map(rows.map(row => [Number(row.id), row]));
      const missing = records.filter(record => {
        const row = wrong.get(record.id);
        const isRight = row !== undefined && isSame(toRow(record), row);
        if (isRight) wrong.delete(record.id);
        return !isRight;
      });
      return {missing, wrong: [...wrong.values()].map(row => ({...row, id: Number(row.id)}))};
    },

    async restore(db, records) {
      for (const record of records) {
        const row = toRow(record);
        const taken = Object.fromEntries(unique.map(column => [column, row[column]]));
        if (unique.length > 0) await db(name).where(taken).whereNot({id: record.id}).delete();
      }
      await table.put(db, records);
    },
  };
  return table;
};

/** Few sizes, so that each is prepared once. */
const rowsTogether = [64, 8, 1];

/** Values are bound one by one: a number that goes through SQLite's JSON may come out as its neighbour. */
const putting = (name: string, columns: readonly string[], size: number): Procedure => ({
  sql: `
INSERT INTO "${name}" (${columns.map(column => `"${column}"`).join(', ')})
VALUES ${Array(size)
    .fill(`(${columns.map(() => '?').join(', ')})`)
    .join(', ')}
ON CONFLICT (id) DO UPDATE SET ${columns.map(column => `"${column}" = excluded."${column}"`).join(', ')}`,
});

const bound = (value: Value | undefined): string | number | null =>
  typeof value === 'boolean' ? Number(value) : (value ?? null);

/** SQLite has no booleans, and PostgreSQL gives whole numbers as text. */
const isSame = (wanted: Row, found: Row): boolean =>
  Object.entries(wanted).every(([column, value]) => plain(value) === plain(found[column] ?? null));

const plain = (value: Value): string | null =>
  value === null ? null : String(typeof value === 'boolean' ? Number(value) : value);

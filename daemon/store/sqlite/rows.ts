// Many rows at a time: SQLite takes a limited number of values in one statement.
import type {Db} from './database.ts';

const rowsPerStatement = 100;
/** Of one value each. */
export const idsPerStatement = 1000;

export const chunksOf = <T>(items: readonly T[], size = rowsPerStatement): T[][] =>
  Array.from({length: Math.ceil(items.length / size)}, (_, n) => items.slice(n * size, (n + 1) * size));

/** A table that shows live configuration records of one kind in the shape they are read in. */
export interface RecordTable<R extends {id: number}> {
  put(db: Db, records: readonly R[]): Promise<void>;
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
  /** The columns whose values together only one row may have. */
  unique?: (keyof R & string)[];
}

export const recordTable = <R extends {id: number}>({name, toRow, unique = []}: Needs<R>): RecordTable<R> => {
  const table: RecordTable<R> = {
    async put(db, records) {
      for (const some of chunksOf(records)) await db(name).insert(some.map(toRow)).onConflict('id').merge();
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

/** SQLite has no booleans, and PostgreSQL gives whole numbers as text. */
const isSame = (wanted: Row, found: Row): boolean =>
  Object.entries(wanted).every(([column, value]) => plain(value) === plain(found[column] ?? null));

const plain = (value: Value): string | null =>
  value === null ? null : String(typeof value === 'boolean' ? Number(value) : value);

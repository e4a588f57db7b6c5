import type {Db} from './database.ts';

/** Runs one statement, with a `?` for each value. Resolves with the rows that it returns. */
export const query = async <R>(db: Db, sql: string, values: readonly (string | number | null)[] = []): Promise<R[]> =>
  (await db.raw(sql, [...values])) as R[];

// Execution of SQL statements. On the single connection of the writer they go directly to the driver: knex takes as long for each
// statement as SQLite.
import type {Knex} from 'knex';

export interface SqliteConnection {
  exec(sql: string, done: (error: Error | null) => void): void;
  all(sql: string, values: Values, done: (error: Error | null, rows: unknown[]) => void): void;
}

type Values = readonly (string | number | boolean | null)[];

const onlyConnections = new WeakMap<Knex, SqliteConnection>();

/** For a database whose pool has one connection. */
export const setOnlyConnection = (db: Knex, connection: SqliteConnection): void => void onlyConnections.set(db, connection);

/** Runs one statement with a `?` for each value. Resolves with the returned rows. */
export const query = async <R>(db: Knex, sql: string, values: Values = []): Promise<R[]> => {
  const connection = onlyConnections.get(db);
  if (!connection) return (await db.raw(sql, [...values])) as R[];
  return new Promise((resolve, reject) => {
    connection.all(sql, values, (error, rows) => {
      // knex emits the same event for its own queries.
      if (error) db.emit('query-error', error);
      if (error) reject(error);
      else resolve(rows as R[]);
    });
  });
};

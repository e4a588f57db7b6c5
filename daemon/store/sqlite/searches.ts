// Connections for searches of held mail, which read many rows. They are few: each occupies one of the threads that mail needs for its
// files and its rows.
import type {Knex} from 'knex';
import {createSearchLimit, type SearchLimit, SearchOverdue} from '../../services/search-limits.ts';
import type {Db} from '../sql/db.ts';
import type {SqliteDb} from './query.ts';

/**
 * Runs one search on a connection of its own; its statements run one after the other, and see the same moment. Rejects with a
 * SearchOverdue.
 */
export type Search = <T>(search: (db: Db) => Promise<T>) => Promise<T>;

interface Connection {
  interrupt(): void;
}

interface Client {
  acquireConnection(): Promise<Connection>;
  releaseConnection(connection: Connection): Promise<void>;
}

/** `db` has as many connections as searches may run at once. */
export const createSearch = (db: SqliteDb, limit: SearchLimit): Search => {
  const client = db.client as Client;
  const inTurn = createSearchLimit(limit);
  return async search =>
    inTurn(async ({signal}) => {
      const connection = await client.acquireConnection();
      try {
        await db.raw('BEGIN').connection(connection);
        return await search({
          dialect: db.dialect,
          run: async (sql, values) => runUntil(signal, connection, db.raw(sql, [...values])),
        });
      } finally {
        // After some errors SQLite has already rolled back and refuses it: the first error is the one that counts.
        await db
          .raw('ROLLBACK')
          .connection(connection)
          .catch(() => {});
        await client.releaseConnection(connection);
      }
    });
};

/** An interrupt has no effect on a statement that has not started yet, so it is repeated. */
const interruptEveryMs = 50;

const runUntil = async (signal: AbortSignal, connection: Connection, statement: Knex.Raw): Promise<unknown[]> => {
  let timer: NodeJS.Timeout | undefined;
  const interrupt = () => {
    connection.interrupt();
    timer = setInterval(() => connection.interrupt(), interruptEveryMs);
  };
  if (signal.aborted) throw new SearchOverdue(signal.reason, 'for nobody');
  signal.addEventListener('abort', interrupt);
  try {
    return (await statement.connection(connection)) as unknown[];
  } catch (error) {
    throw signal.aborted && isInterrupted(error) ? new SearchOverdue(error, 'for nobody') : error;
  } finally {
    signal.removeEventListener('abort', interrupt);
    clearInterval(timer);
  }
};

const isInterrupted = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'SQLITE_INTERRUPT';

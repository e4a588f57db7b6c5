// Connections for searches of held mail, which read many rows. They are few, and no others wait for them.
import pg from 'pg';
import {createSearchLimit, type SearchLimit, SearchOverdue} from '../../services/search-limits.ts';
import {asFault, clientConfig, codeOf, connectMs, type PostgresSettings} from './connection.ts';
import {createConnect} from './database.ts';
import type {Queryable} from './dialect.ts';

export interface Searches {
  /** Runs one search on a connection of its own. All its statements see the same moment. Rejects with a SearchOverdue. */
  run<T>(search: (connection: Queryable) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

export const openSearches = (settings: PostgresSettings, limit: SearchLimit): Searches => {
  const pool = new pg.Pool({
    ...clientConfig(settings),
    max: limit.atOnce,
    connectionTimeoutMillis: connectMs,
    idleTimeoutMillis: 60_000,
  });
  // An idle connection has ended; the next search opens another one.
  pool.on('error', () => {});
  const connect = createConnect(pool);
  const inTurn = createSearchLimit(limit);

  const searchOn = async <T>(search: (connection: Queryable) => Promise<T>, endsAtMs: number): Promise<T> => {
    const client = await connect();
    let isUsable = false;
    try {
      await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY');
      const result = await search({
        async query(sql, values) {
          // The server ends the statement. Zero would be no limit.
          await client.query(`SET LOCAL statement_timeout = ${Math.max(1, Math.ceil(endsAtMs - performance.now()))}`);
          return client.query(sql, values);
        },
      });
      await client.query('COMMIT');
      isUsable = true;
      return result;
    } finally {
      client.release(!isUsable);
    }
  };

  return {
    run: async search =>
      inTurn(async ({endsAtMs}) =>
        searchOn(search, endsAtMs).catch(error => {
          throw codeOf(error) === canceled ? new SearchOverdue(error, 'for nobody') : asFault(error);
        }),
      ),
    close: async () => pool.end(),
  };
};

/** query_canceled: the statement had used up its time. */
const canceled = '57014';

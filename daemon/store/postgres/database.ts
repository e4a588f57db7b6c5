// Database of a cluster: a pool of connections, and transactions whose end is certain.
import {setTimeout as delay} from 'node:timers/promises';
import pg from 'pg';
import {Fault} from '../../../shared/fault.ts';
import {asFault, beginSession, clientConfig, connectMs, isDeadlock, type PostgresSettings} from './connection.ts';

export interface Database {
  /** One statement, on any connection. */
  query(sql: string, values?: readonly unknown[]): Promise<pg.QueryResult>;
  /** On a deadlock `work` runs again. */
  transaction<T>(work: (client: pg.PoolClient) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

interface Limits {
  /**
   * How long a COMMIT may wait for the disk and the standby. Then the socket is closed: a cancelled wait would look like a success.
   */
  commitMs: number;
  /** How long it is asked afterwards what became of it. */
  lookUpMs: number;
}

const usualLimits: Limits = {commitMs: 10_000, lookUpMs: 6000};
const attempts = 4;

export const openDatabase = (settings: PostgresSettings, limits = usualLimits): Database => {
  const pool = new pg.Pool({
    ...clientConfig(settings),
    max: settings.pool,
    connectionTimeoutMillis: connectMs,
    idleTimeoutMillis: 60_000,
    onConnect: beginSession,
  });
  // An idle connection has ended; the next caller opens another one.
  pool.on('error', () => {});

  const attempt = async <T>(work: (client: pg.PoolClient) => Promise<T>): Promise<T> => {
    const client = await pool.connect();
    // The statement that is under way rejects as well.
    const ignore = () => {};
    client.on('error', ignore);
    let isUsable = false;
    try {
      await client.query('BEGIN');
      const result = await work(client).catch(async error => {
        isUsable = await rollback(client);
        throw error;
      });
      const end = await commit(client, limits);
      isUsable = end.isCertain;
      if (!end.isCertain) await requireCommitted(pool, end.xid, limits);
      return result;
    } finally {
      client.off('error', ignore);
      client.release(!isUsable);
    }
  };

  const transaction: Database['transaction'] = async work => {
    for (let left = attempts - 1; ; left -= 1)
      try {
        return await attempt(work);
      } catch (error) {
        if (left === 0 || !isDeadlock(error)) throw asFault(error);
        await delay(Math.random() * 50);
      }
  };

  return {
    async query(sql, values = []) {
      try {
        return await pool.query(sql, [...values]);
      } catch (error) {
        throw asFault(error);
      }
    },
    transaction,
    close: async () => pool.end(),
  };
};

/** False when the connection cannot be used any more. */
const rollback = async (client: pg.PoolClient): Promise<boolean> =>
  client.query('ROLLBACK').then(
    () => true,
    () => false,
  );

/** The transaction, where it is not certain that it has been committed. */
type End = {isCertain: true} | {isCertain: false; xid: string};

/**
 * A WARNING comes with the COMMIT whose wait for the standby was cancelled: it is on this server only. Without an answer the
 * change may have been stored or not.
 */
const commit = async (client: pg.PoolClient, {commitMs}: Limits): Promise<End> => {
  const {rows} = await client.query<{xid: string | null}>('SELECT pg_current_xact_id_if_assigned()::text AS xid');
  const xid = rows[0]?.xid ?? null;
  let hasWarning = false;
  const onNotice = ({severity}: {severity?: string | undefined}) => {
    hasWarning ||= severity === 'WARNING';
  };
  client.on('notice', onNotice);
  try {
    const answer = await Promise.race([client.query('COMMIT'), delay(commitMs, undefined, {ref: false})]);
    if (answer?.command === 'ROLLBACK') throw new Error('the transaction had failed before its COMMIT');
    if (xid === null || (answer && !hasWarning)) return {isCertain: true};
    return {isCertain: false, xid};
  } catch (error) {
    // The server has refused it, as a deferred check does; a broken connection says nothing.
    if (xid === null || (error instanceof pg.DatabaseError && !/^(?:57|08)/.test(error.code ?? ''))) throw error;
    if (!(error instanceof pg.DatabaseError) && asFault(error) === error) throw error;
    return {isCertain: false, xid};
  } finally {
    client.off('notice', onNotice);
  }
};

/**
 * Resolves when the transaction is committed here and on the standby. Rejects with a Fault `unavailable` when it was rolled back, and
 * `outcome_unknown` when nobody can say.
 */
const requireCommitted = async (pool: pg.Pool, xid: string, limits: Limits): Promise<void> => {
  const endsAt = performance.now() + limits.lookUpMs;
  while (performance.now() < endsAt) {
    const fate = await fateOf(pool, xid, limits).catch(() => 'unknown');
    if (fate === 'committed') return;
    if (fate === 'aborted')
      throw new Fault('unavailable', 'the cluster’s database was interrupted; nothing was done, try again', {
        retryAfterSeconds: 2,
      });
    await delay(200);
  }
  throw new Fault(
    'outcome_unknown',
    'the cluster’s database does not say whether this was stored; look before you repeat it, which is safe',
  );
};

type Fate = 'committed' | 'aborted' | 'unknown';

/**
 * A transaction that is committed on this server may be missing on the standby. A later COMMIT that succeeds proves that it is there
 * too, as standbys receive all changes in order.
 */
const fateOf = async (pool: pg.Pool, xid: string, limits: Limits): Promise<Fate> => {
  const client = await pool.connect();
  let isUsable = false;
  try {
    const status = await statusOf(client, xid);
    if (status !== 'committed') {
      isUsable = true;
      return status;
    }
    await client.query('BEGIN');
    await client.query(
      "INSERT INTO local_state (name, value) VALUES ('probe', $1) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
      [xid],
    );
    const {isCertain} = await commit(client, limits);
    isUsable = isCertain;
    return isCertain ? 'committed' : 'unknown';
  } finally {
    client.release(!isUsable);
  }
};

const statusOf = async (client: pg.PoolClient, xid: string): Promise<Fate> => {
  try {
    const {rows} = await client.query<{status: string | null}>('SELECT pg_xact_status($1::xid8) AS status', [xid]);
    const status = rows[0]?.status;
    return status === 'committed' || status === 'aborted' ? status : 'unknown';
  } catch (error) {
    // A transaction that has not begun yet: the server is a former standby that has never heard of this one.
    if (error instanceof pg.DatabaseError && error.code === '22023') return 'aborted';
    throw error;
  }
};

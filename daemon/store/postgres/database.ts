// Database of a cluster: a pool of connections, and transactions whose end is certain.
import {randomUUID} from 'node:crypto';
import {setTimeout as delay} from 'node:timers/promises';
import pg from 'pg';
import {Fault} from '../../../shared/fault.ts';
import {asFault, beginSession, clientConfig, codeOf, connectMs, isDeadlock, type PostgresSettings} from './connection.ts';

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
  const marks = createMarks();
  const pool = new pg.Pool({
    ...clientConfig(settings),
    max: settings.pool,
    connectionTimeoutMillis: connectMs,
    idleTimeoutMillis: 60_000,
  });
  // An idle connection has ended; the next caller opens another one.
  pool.on('error', () => {});
  const connect = createConnect(pool);

  const attempt = async <T>(work: (client: pg.PoolClient) => Promise<T>): Promise<T> => {
    const client = await connect();
    const mark = marks.take();
    let isUsable = false;
    try {
      await client.query('BEGIN');
      const result = await work(client).catch(async error => {
        isUsable = (await rollback(client)) && codeOf(error) !== '25006';
        throw error;
      });
      await client.query(marking, [mark.slot, mark.token]);
      isUsable = await commit(client, limits);
      if (!isUsable) await requireCommitted(connect, mark, limits);
      return result;
    } finally {
      client.release(!isUsable);
      marks.giveBack(mark);
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
        return await queryOn(await connect(), sql, values);
      } catch (error) {
        throw asFault(error);
      }
    },
    transaction,
    close: async () => pool.end(),
  };
};

type Connect = () => Promise<pg.PoolClient>;

/** Takes a connection of the pool; a new one is prepared first. */
export const createConnect = (pool: pg.Pool): Connect => {
  const prepared = new WeakSet<pg.PoolClient>();
  return async () => {
    const client = await pool.connect();
    if (prepared.has(client)) return client;
    // What is under way on the connection rejects as well; without a listener the event would end the process.
    client.on('error', () => {});
    try {
      await beginSession(client);
    } catch (error) {
      client.release(true);
      throw error;
    }
    prepared.add(client);
    return client;
  };
};

const queryOn = async (client: pg.PoolClient, sql: string, values: readonly unknown[]): Promise<pg.QueryResult> => {
  let isUsable = false;
  try {
    const result = await client.query(sql, [...values]);
    isUsable = true;
    return result;
  } catch (error) {
    isUsable = mayGoOn(error);
    throw error;
  } finally {
    client.release(!isUsable);
  }
};

/** The statement was refused, by a server that is still there and takes changes. */
const mayGoOn = (error: unknown): boolean => error instanceof pg.DatabaseError && !/^(?:08|57|25006)/.test(error.code ?? '');

/** False when the connection cannot be used any more. */
const rollback = async (client: pg.PoolClient): Promise<boolean> =>
  client.query('ROLLBACK').then(
    () => true,
    () => false,
  );

/** What a transaction leaves in its last statement: its commit is known by it. */
interface Mark {
  slot: string;
  token: string;
}

/**
 * The number of a transaction would not do: a server that was restored, or a promoted standby, gives those again that it never heard
 * of. Transactions of one process that run at the same time have different rows.
 */
const createMarks = () => {
  const process = randomUUID();
  const free: string[] = [];
  let made = 0;
  return {
    take(): Mark {
      made += free.length === 0 ? 1 : 0;
      return {slot: free.pop() ?? `${process}/${made}`, token: randomUUID()};
    },
    giveBack: ({slot}: Mark) => void free.push(slot),
  };
};

const marking = `
INSERT INTO last_commit (slot, token, at) VALUES ($1, $2, now())
ON CONFLICT (slot) DO UPDATE SET token = excluded.token, at = excluded.at`;

/**
 * False when it is not certain that the transaction is committed. A WARNING comes with the COMMIT whose wait for the standby was
 * cancelled: it is on this server only. Without an answer the change may have been stored or not.
 */
const commit = async (client: pg.PoolClient, {commitMs}: Limits): Promise<boolean> => {
  let hasWarning = false;
  const onNotice = ({severity}: {severity?: string | undefined}) => {
    hasWarning ||= severity === 'WARNING';
  };
  client.on('notice', onNotice);
  try {
    const answer = await Promise.race([client.query('COMMIT'), delay(commitMs, undefined, {ref: false})]);
    if (answer?.command === 'ROLLBACK') throw new Error('the transaction had failed before its COMMIT');
    return answer !== undefined && !hasWarning;
  } catch (error) {
    // The server has refused it, as a deferred check does; a broken connection says nothing.
    if (error instanceof pg.DatabaseError && !/^(?:57|08)/.test(error.code ?? '')) throw error;
    if (!(error instanceof pg.DatabaseError) && asFault(error) === error) throw error;
    return false;
  } finally {
    client.off('notice', onNotice);
  }
};

/**
 * Resolves when the transaction is committed here and on the standby. Rejects with a Fault `unavailable` when it was rolled back, and
 * `outcome_unknown` when nobody can say.
 */
const requireCommitted = async (connect: Connect, mark: Mark, limits: Limits): Promise<void> => {
  const endsAt = performance.now() + limits.lookUpMs;
  while (performance.now() < endsAt) {
    const isCommitted = await lookUp(connect, mark, limits).catch(() => undefined);
    if (isCommitted) return;
    if (isCommitted === false)
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

/**
 * Undefined while the transaction is neither committed nor rolled back. Its row is locked as long as it waits, so the lock says that
 * it has ended. A transaction that is committed on this server may be missing on the standby: a later COMMIT that succeeds proves that
 * it is there too, as standbys receive all changes in order.
 */
const lookUp = async (connect: Connect, {slot, token}: Mark, limits: Limits): Promise<boolean | undefined> => {
  const client = await connect();
  let isUsable = false;
  try {
    await client.query('BEGIN');
    await client.query("INSERT INTO last_commit (slot, token, at) VALUES ($1, '', now()) ON CONFLICT DO NOTHING", [slot]);
    const {rows} = await client.query<{token: string}>('UPDATE last_commit SET at = now() WHERE slot = $1 RETURNING token', [
      slot,
    ]);
    isUsable = await commit(client, limits);
    return isUsable ? rows[0]?.token === token : undefined;
  } finally {
    client.release(!isUsable);
  }
};

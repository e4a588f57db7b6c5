// The one place that names the SQL driver. Everything else speaks knex, in SQL that PostgreSQL understands too.
import knex, {type Knex} from 'knex';
import {Fault} from '../../../shared/fault.ts';
import {migrations} from './migrations.ts';
import {query, type SqliteConnection, setOnlyConnection} from './query.ts';
import {synchronous} from './synchronous.ts';

/** A database or a transaction: store functions cannot tell which they were given. */
export type Db = Knex;

export interface Database {
  /**
   * Runs `work` with the only connection that writes: the transactions of all callers come one after the other, and every query of
   * `work` must be given the transaction. A Fault `unavailable` for a caller who has waited for 30 s.
   */
  transaction<T>(work: (tx: Db) => Promise<T>): Promise<T>;
  /** The same connection, for what runs while no transaction does, such as a migration. */
  write: Knex;
  /** Readers that never wait for the writer (WAL snapshots). */
  read: Knex;
  /** What SQLite said when it met a page that is not what it was; undefined while all is well. */
  damage(): string | undefined;
  close(): Promise<void>;
}

/**
 * WAL with synchronous FULL: a commit that was acknowledged survives a power cut (NORMAL would lose the latest ones).
 * `busy_timeout` covers a second process, such as `mfd bootstrap-key` beside a running node, and comes first, as the others may
 * have to wait as well: SQLite gives the lock to whoever looks at the right moment, and a node that writes without a pause leaves
 * few of these. `secure_delete` overwrites what is deleted: private keys must not stay readable in unused space.
 */
const writerSettings = `PRAGMA busy_timeout = 15000; PRAGMA journal_mode = WAL; PRAGMA synchronous = ${synchronous}; PRAGMA foreign_keys = ON; PRAGMA secure_delete = FAST; PRAGMA temp_store = MEMORY;`;
const readerSettings = 'PRAGMA busy_timeout = 5000; PRAGMA query_only = ON; PRAGMA mmap_size = 268435456;';

const readers = 4;

/**
 * A transaction that has read can no longer become a writer once another process has written (SQLITE_BUSY at once, however
 * long the timeout), so every one takes the write lock where it begins. After some errors, such as a full disk, SQLite has
 * rolled back by itself and refuses a ROLLBACK: the error that counts is the first one.
 */
const transactionsOn = (writer: Knex, waitMs: number): Database['transaction'] => {
  let last: Promise<unknown> = Promise.resolve();

  const run = async <T>(work: (tx: Db) => Promise<T>): Promise<T> => {
    await query(writer, 'BEGIN IMMEDIATE');
    try {
      const result = await work(writer);
      await query(writer, 'COMMIT');
      return result;
    } catch (error) {
      await query(writer, 'ROLLBACK').catch(() => {});
      throw error;
    }
  };

  return async work => {
    const turn = last;
    let end = () => {};
    last = new Promise<void>(resolve => {
      end = resolve;
    });
    try {
      await patiently(turn, waitMs);
      return await run(work);
    } finally {
      void turn.then(end);
    }
  };
};

/** Rejects when `turn` has not come after `waitMs`. */
const patiently = async (turn: Promise<unknown>, waitMs: number): Promise<void> => {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(tooBusy(waitMs)), waitMs);
  });
  try {
    await Promise.race([turn, late]);
  } finally {
    clearTimeout(timer);
  }
};

interface ConnectOptions {
  settings: string;
  pool: {min: number; max: number};
  waitMs?: number;
}

const connect = (filename: string, {settings, pool, waitMs = 30_000}: ConnectOptions): Knex => {
  const db: Knex = knex({
    client: 'sqlite3',
    connection: {filename},
    useNullAsDefault: true,
    // What it would print is thrown as well, and told by whoever catches it.
    log: {warn: () => {}, error: () => {}},
    // A query that forgot its transaction would otherwise wait for itself for ever.
    acquireConnectionTimeout: waitMs,
    pool: {
      ...pool,
      afterCreate: (connection: SqliteConnection, done: (error: Error | null, connection: SqliteConnection) => void) =>
        connection.exec(settings, error => {
          if (pool.max === 1) setOnlyConnection(db, connection);
          done(error, connection);
        }),
    },
  });
  const client = db.client as {acquireConnection(): Promise<unknown>};
  const acquire = client.acquireConnection.bind(client);
  client.acquireConnection = async () =>
    acquire().catch(error => {
      throw error instanceof knex.KnexTimeoutError ? tooBusy(waitMs, error) : error;
    });
  return db;
};

/** For a caller who has waited so long for a disk that stalls: nothing was done, and there is no bug to look for. */
const tooBusy = (waitedMs: number, cause?: Error): Fault =>
  new Fault('unavailable', 'the disk of this node does not keep up; try again later', {
    cause,
    retryAfterSeconds: Math.ceil(waitedMs / 1000),
  });

/** Reads the driver's files now, for a caller who may not read them later. */
export const loadDriver = async (): Promise<void> => connect(':memory:', {settings: '', pool: {min: 0, max: 1}}).destroy();

/**
 * Opens (creating and migrating where needed) the database in `filename`. Whoever has waited `waitMs` for a connection gets a
 * Fault `unavailable`.
 */
export const openDatabase = async (filename: string, {waitMs = 30_000} = {}): Promise<Database> => {
  const write = connect(filename, {settings: writerSettings, pool: {min: 1, max: 1}, waitMs});
  const read = connect(filename, {settings: readerSettings, pool: {min: 0, max: readers}, waitMs});
  const transaction = transactionsOn(write, waitMs);
  const close = async () => {
    await transaction(async () => {}).catch(() => {});
    await read.destroy();
    await write.destroy();
  };
  let damage: string | undefined;
  const onError = (error: unknown) => {
    if (isDamaged(error)) damage ??= databaseErrorText(error);
  };
  for (const db of [write, read]) db.on('query-error', onError);
  try {
    await write.migrate.latest({migrationSource: migrations, tableName: 'schema_migration'});
  } catch (error) {
    await close();
    throw error;
  }
  return {
    transaction,
    write,
    read,
    close,
    damage: () => damage,
  };
};

/**
 * For looking into a file that may be anything: it is neither made nor brought up to date, and what SQLite cannot make out of its
 * schema keeps nobody from the rest of it, which is what `writable_schema` is for here.
 */
export const openForReading = (filename: string): Knex =>
  connect(filename, {settings: 'PRAGMA writable_schema = ON; PRAGMA query_only = ON;', pool: {min: 0, max: 1}, waitMs: 30_000});

/** What SQLite says; its errors begin with the statement and all values in it, private keys and subjects of mail among them. */
export const databaseErrorText = (error: Error): string | undefined => {
  const code = 'code' in error ? String(error.code) : '';
  if (!code.startsWith('SQLITE_')) return undefined;
  const at = error.message.lastIndexOf(code);
  return at < 0 ? code : error.message.slice(at).split('\n')[0];
};

/** Whether the disk is full, by the errors of SQLite and of the file system. */
export const isDiskFull = (error: unknown): boolean => {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return code === 'SQLITE_FULL' || code === 'ENOSPC' || code === 'EDQUOT';
};

/** Whether SQLite has found the file to be none of its own making. */
export const isDamaged = (error: unknown): error is Error =>
  error instanceof Error && 'code' in error && (error.code === 'SQLITE_CORRUPT' || error.code === 'SQLITE_NOTADB');

/**
 * Whether the tables are others than the migrations made and left: of a node that starts, a page of them has changed. Knex's lock is
 * taken and given back in one transaction, and only by whoever has the data directory.
 */
export const isOtherSchema = (error: unknown): error is Error =>
  error instanceof Error && (('code' in error && error.code === 'SQLITE_ERROR') || error.name === 'MigrationLocked');

/**
 * Keeps a second process out of a data directory for as long as this one lives: a lock that the system itself gives up,
 * however the process ends. Undefined when another process has it.
 */
export const acquireLock = async (filename: string): Promise<{release(): Promise<void>} | undefined> => {
  const settings = 'PRAGMA journal_mode = OFF; PRAGMA locking_mode = EXCLUSIVE; PRAGMA busy_timeout = 0;';
  const lock = connect(filename, {settings, pool: {min: 1, max: 1}});
  try {
    await lock.raw('BEGIN EXCLUSIVE');
    return {release: async () => lock.destroy()};
  } catch (error) {
    await lock.destroy();
    if (error instanceof Error && 'code' in error && error.code === 'SQLITE_BUSY') return undefined;
    throw error;
  }
};

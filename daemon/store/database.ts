// The one place that names the SQL driver. Everything else speaks knex, in SQL that PostgreSQL understands too.
import knex, {type Knex} from 'knex';
import {migrations} from './migrations.ts';
import {finalizeOnClose} from './prepared.ts';

/** A database or a transaction: store functions cannot tell which they were given. */
export type Db = Knex;

export interface Database {
  /** The single writer. Inside its transactions every query must be given the transaction. */
  write: Knex;
  /** Readers that never wait for the writer (WAL snapshots). */
  read: Knex;
  close(): Promise<void>;
}

interface SqliteConnection {
  exec(sql: string, done: (error: Error | null) => void): void;
}

/**
 * WAL with synchronous FULL: a commit that was acknowledged survives a power cut (NORMAL would lose the latest ones).
 * `busy_timeout` covers a second process, such as `mfd bootstrap-key` beside a running node. `secure_delete` overwrites what
 * is deleted: private keys must not stay readable in unused space.
 */
const writerSettings =
  'PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA busy_timeout = 5000; PRAGMA foreign_keys = ON; PRAGMA secure_delete = FAST;';
const readerSettings = 'PRAGMA busy_timeout = 5000; PRAGMA query_only = ON; PRAGMA mmap_size = 268435456;';

const readers = 4;

/**
 * A transaction that has read can no longer become a writer once another process has written (SQLITE_BUSY at once, however
 * long the timeout), so every one takes the write lock where it begins. After some errors, such as a full disk, SQLite has
 * rolled back by itself and refuses a ROLLBACK: the error that counts is the first one.
 */
const withWriteTransactions = (db: Knex): Knex => {
  const client = db.client as {transaction(...needs: unknown[]): WriteTransaction};
  const create = client.transaction.bind(client);
  client.transaction = (...needs) => {
    const transaction = create(...needs);
    transaction.begin = connection => transaction.query(connection, 'BEGIN IMMEDIATE;');
    transaction.rollback = async (connection, error) => {
      await transaction.trxClient.query(connection, 'ROLLBACK;').catch(() => {});
      return transaction.query(connection, 'SELECT 1;', isFailed, error);
    };
    return transaction;
  };
  return db;
};

/** The part of knex's transaction that talks to the driver. */
interface WriteTransaction {
  trxClient: {query(connection: unknown, sql: string): Promise<unknown>};
  begin(connection: unknown): unknown;
  rollback(connection: unknown, error: unknown): unknown;
  query(connection: unknown, sql: string, status?: typeof isFailed, error?: unknown): unknown;
}
/** Knex's sign for: after this statement the transaction is over and rejects. */
const isFailed = 2;

const connect = (filename: string, settings: string, pool: {min: number; max: number}): Knex =>
  knex({
    client: 'sqlite3',
    connection: {filename},
    useNullAsDefault: true,
    // What it would print is thrown as well, and told by whoever catches it.
    log: {warn: () => {}, error: () => {}},
    // A query that forgot its transaction would otherwise wait for itself for ever.
    acquireConnectionTimeout: 30_000,
    pool: {
      ...pool,
      afterCreate: (connection: SqliteConnection, done: (error: Error | null, connection: SqliteConnection) => void) =>
        connection.exec(settings, error => done(error, connection)),
    },
  });

/** Opens (creating and migrating where needed) the database in `filename`. */
export const openDatabase = async (filename: string): Promise<Database> => {
  const write = finalizeOnClose(withWriteTransactions(connect(filename, writerSettings, {min: 1, max: 1})));
  const read = finalizeOnClose(connect(filename, readerSettings, {min: 0, max: readers}));
  const close = async () => {
    await read.destroy();
    await write.destroy();
  };
  try {
    await write.migrate.latest({migrationSource: migrations, tableName: 'schema_migration'});
  } catch (error) {
    await close();
    throw error;
  }
  return {write, read, close};
};

/** Runs `look` on one moment of the database: what is committed meanwhile is in none of its answers. */
export const readTogether = async <T>({read}: Database, look: (db: Db) => Promise<T>): Promise<T> =>
  read.transaction(async tx => look(tx));

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

/**
 * Keeps a second process out of a data directory for as long as this one lives: a lock that the system itself gives up,
 * however the process ends. Undefined when another process has it.
 */
export const acquireLock = async (filename: string): Promise<{release(): Promise<void>} | undefined> => {
  const lock = connect(filename, 'PRAGMA journal_mode = OFF; PRAGMA locking_mode = EXCLUSIVE; PRAGMA busy_timeout = 0;', {
    min: 1,
    max: 1,
  });
  try {
    await lock.raw('BEGIN EXCLUSIVE');
    return {release: async () => lock.destroy()};
  } catch (error) {
    await lock.destroy();
    if (error instanceof Error && 'code' in error && error.code === 'SQLITE_BUSY') return undefined;
    throw error;
  }
};

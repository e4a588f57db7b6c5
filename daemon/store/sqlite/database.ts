// Database connections. Only this file names the SQL driver.

import knex, {type Knex} from 'knex';
import {z} from 'zod';
import {Fault} from '../../../shared/fault.ts';
import {hasOwn} from '../../../shared/has-own.ts';
import {usualSearchLimit} from '../../services/search-limits.ts';
import {query} from '../sql/db.ts';
import {migrate, OtherSchema} from './migrate.ts';
import {asDb, releaseWriter, type SqliteConnection, type SqliteDb, setWriter} from './query.ts';
import {createSearch, type Search} from './searches.ts';

// Value of `PRAGMA synchronous`: FULL, except in builds for fault tests, which weaken it to check that the tests notice a power
// cut; see TEST_BUILD in bin/build.mjs.

declare const TEST_BUILD: boolean;

const wantedSchema = z.enum(['FULL', 'NORMAL']).default('FULL');

export const synchronous: 'FULL' | 'NORMAL' =
  typeof TEST_BUILD !== 'undefined' && TEST_BUILD ? wantedSchema.parse(process.env.FAULT_SYNCHRONOUS) : 'FULL';

export interface Database {
  /**
   * Runs `work` on the only connection that writes, one transaction after the other. Every query of `work` must use the
   * transaction. Throws a Fault `unavailable` after 30 s of waiting.
   */
  transaction<T>(work: (tx: SqliteDb) => Promise<T>): Promise<T>;
  /** The same connection, for work outside of transactions, such as a migration. */
  write: SqliteDb;
  /** Readers, which never wait for the writer (WAL snapshots). */
  read: SqliteDb;
  search: Search;
  /** Reads all of a large table beside the writer. */
  scan: SqliteDb;
  /** The error of SQLite when it met a damaged page; undefined if there was none. */
  damage(): string | undefined;
  close(): Promise<void>;
}

/**
 * WAL with synchronous FULL: an acknowledged commit survives a power cut (NORMAL would lose the latest ones). `busy_timeout` is
 * for a second process, such as `mfd bootstrap-key` beside a running node. It comes first, as the other settings may have to wait
 * too, and is long: SQLite has no queue for its lock, and a node that writes without pause leaves few gaps. `secure_delete`
 * overwrites deleted data: private keys must not stay readable in unused space.
 */
const writerSettings = `PRAGMA busy_timeout = 15000; PRAGMA journal_mode = WAL; PRAGMA synchronous = ${synchronous}; PRAGMA foreign_keys = ON; PRAGMA secure_delete = FAST; PRAGMA temp_store = MEMORY;`;
const readerSettings = 'PRAGMA busy_timeout = 5000; PRAGMA query_only = ON; PRAGMA mmap_size = 268435456;';

/** A reader maps into its memory what it reads. */
const scanSettings = 'PRAGMA busy_timeout = 5000; PRAGMA query_only = ON;';

const readers = 4;

/**
 * A transaction that has read cannot start to write once another process has written (SQLITE_BUSY at once, however long the
 * timeout), so every transaction takes the write lock when it begins. After some errors, such as a full disk, SQLite has already
 * rolled back and refuses a ROLLBACK: the first error is the one that counts.
 */
const transactionsOn = (writer: SqliteDb, waitMs: number): Database['transaction'] => {
  let last: Promise<unknown> = Promise.resolve();

  const run = async <T>(work: (tx: SqliteDb) => Promise<T>): Promise<T> => {
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
    const previous = last;
    let end = () => {};
    last = new Promise<void>(resolve => {
      end = resolve;
    });
    try {
      await waitAtMost(previous, waitMs);
      return await run(work);
    } finally {
      void previous.then(end);
    }
  };
};

/** Rejects when `previous` has not resolved after `waitMs`. */
const waitAtMost = async (previous: Promise<unknown>, waitMs: number): Promise<void> => {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(tooBusy(waitMs)), waitMs);
  });
  try {
    await Promise.race([previous, late]);
  } finally {
    clearTimeout(timer);
  }
};

interface ConnectOptions {
  settings: string;
  pool: {min: number; max: number};
  waitMs?: number;
  isWriter?: boolean;
}

const connect = (filename: string, {settings, pool, waitMs = 30_000, isWriter = false}: ConnectOptions): Knex => {
  const db: Knex = knex({
    client: 'sqlite3',
    connection: {filename},
    useNullAsDefault: true,
    // These messages are also thrown, and the caller logs them.
    log: {warn: () => {}, error: () => {}},
    // Without it a query that does not use its transaction would wait for itself forever.
    acquireConnectionTimeout: waitMs,
    pool: {
      ...pool,
      afterCreate: (connection: SqliteConnection, done: (error: Error | null, connection: SqliteConnection) => void) =>
        connection.exec(settings, error => {
          if (isWriter) setWriter(db, connection);
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

/** The disk stalls: nothing was done, and it is not a bug. */
const tooBusy = (waitedMs: number, cause?: Error): Fault =>
  new Fault('unavailable', 'the disk of this node does not keep up; try again later', {
    cause,
    retryAfterSeconds: Math.ceil(waitedMs / 1000),
  });

/** Loads the driver's files for a process that may not read them later. */
export const loadDriver = async (): Promise<void> => connect(':memory:', {settings: '', pool: {min: 0, max: 1}}).destroy();

/**
 * Opens the database in `filename`, and creates or migrates it where needed. A caller that waits longer than `waitMs` for a
 * connection gets a Fault `unavailable`.
 */
export const openDatabase = async (
  filename: string,
  {waitMs = 30_000, searchLimit = usualSearchLimit} = {},
): Promise<Database> => {
  const write = asDb(connect(filename, {settings: writerSettings, pool: {min: 1, max: 1}, waitMs, isWriter: true}));
  const read = asDb(connect(filename, {settings: readerSettings, pool: {min: 0, max: readers}, waitMs}));
  const searched = asDb(connect(filename, {settings: readerSettings, pool: {min: 0, max: searchLimit.atOnce}, waitMs}));
  const scan = asDb(connect(filename, {settings: scanSettings, pool: {min: 0, max: 1}, waitMs}));
  const transaction = transactionsOn(write, waitMs);
  const close = async () => {
    await transaction(async () => {}).catch(() => {});
    await releaseWriter(write);
    await read.destroy();
    await searched.destroy();
    await scan.destroy();
    await write.destroy();
  };
  let damage: string | undefined;
  const onError = (error: unknown, {sql}: {sql?: string} = {}) => {
    // A node whose event log is damaged goes on without it.
    if (isDamaged(error) && !sql?.includes('mail_event')) damage ??= databaseErrorText(error);
  };
  for (const db of [write, read, searched, scan]) db.on('query-error', onError);
  try {
    await migrate(write);
  } catch (error) {
    await close();
    throw error;
  }
  return {
    transaction,
    write,
    read,
    search: createSearch(searched, searchLimit),
    scan,
    close,
    damage: () => damage,
  };
};

/**
 * Opens a file that may be damaged, without creating or migrating it. `writable_schema` lets SQLite read the rest of a file when
 * parts of its schema are unreadable.
 */
export const openForReading = (filename: string): Knex =>
  connect(filename, {settings: 'PRAGMA writable_schema = ON; PRAGMA query_only = ON;', pool: {min: 0, max: 1}, waitMs: 30_000});

/** The message of SQLite without the statement and its values, which may contain private keys and subjects of mail. */
export const databaseErrorText = (error: Error): string | undefined => {
  const code = hasOwn(error, 'code') ? String(error.code) : '';
  if (!code.startsWith('SQLITE_')) return undefined;
  const at = error.message.lastIndexOf(code);
  return at < 0 ? code : error.message.slice(at).split('\n')[0];
};

/** Whether the disk is full, by the errors of SQLite and of the file system. */
export const isDiskFull = (error: unknown): boolean => {
  const code = error instanceof Error && hasOwn(error, 'code') ? error.code : undefined;
  return code === 'SQLITE_FULL' || code === 'ENOSPC' || code === 'EDQUOT';
};

/** Whether SQLite found the file to be damaged. */
export const isDamaged = (error: unknown): error is Error =>
  error instanceof Error && hasOwn(error, 'code') && (error.code === 'SQLITE_CORRUPT' || error.code === 'SQLITE_NOTADB');

/** Whether a change of held mail may succeed without its entries in the event log. */
export const mayBeOfLog = (error: unknown): boolean =>
  isDiskFull(error) || isDamaged(error) || (error instanceof Error && hasOwn(error, 'code') && error.code === 'SQLITE_IOERR');

/**
 * Whether the tables differ from those that the migrations made, so that a page of a starting node's database must have changed.
 * The lock of knex cannot be the cause: it is taken and released in one transaction, by the process that has the data directory.
 */
export const isOtherSchema = (error: unknown): error is Error =>
  error instanceof OtherSchema ||
  (error instanceof Error && ((hasOwn(error, 'code') && error.code === 'SQLITE_ERROR') || error.name === 'MigrationLocked'));

/**
 * Keeps a second process out of a data directory while this one lives. The operating system releases the lock, however the
 * process ends. Undefined when another process has it.
 */
export const acquireLock = async (filename: string): Promise<{release(): Promise<void>} | undefined> => {
  const settings = 'PRAGMA journal_mode = OFF; PRAGMA locking_mode = EXCLUSIVE; PRAGMA busy_timeout = 0;';
  const lock = connect(filename, {settings, pool: {min: 1, max: 1}});
  try {
    await lock.raw('BEGIN EXCLUSIVE');
    return {release: async () => lock.destroy()};
  } catch (error) {
    await lock.destroy();
    if (error instanceof Error && hasOwn(error, 'code') && error.code === 'SQLITE_BUSY') return undefined;
    throw error;
  }
};

// Integrity check of the database.
import {query} from '../sql/db.ts';
import {type Database, isDamaged} from './database.ts';
import type {SqliteDb} from './query.ts';

/**
 * Up to this size the whole database is checked. For a million held mails the check of all pages takes 2 s, of the index of their
 * subjects, word for word, 3 s, and of all index entries a minute.
 */
const smallBytes = 16 * 1024 * 1024;

/** Tables whose indexes are always checked entry by entry. */
const configuration = ['config_record', 'outbox', 'applied', 'local_state'];

/** The event log, with its index of words and the tables of that one. It is history, and may be larger than all else. */
const isOfLog = (table: string): boolean => table.startsWith('mail_event');

const subjectIndex = 'held_trigram';

type Writer = Pick<Database, 'write'>;

/**
 * The first error, in the words of SQLite; none for a damaged event log: a node that has one holds and releases mail without it. In a
 * large database neither the log nor the list of free pages is read, nor the index of subjects, see `findIndexDamage`.
 */
export const findDamage = async ({write}: Writer): Promise<string | undefined> =>
  ofDamage(async () => {
    const isSmall = (await sizeOf(write)) <= smallBytes;
    const whole = isSmall ? await ofDamage(async () => firstErrorOf(write, 'integrity_check(1)')) : undefined;
    if (isSmall && whole === undefined) return undefined;
    const tables = (await tablesOf(write)).filter(table => !isOfLog(table) && (isSmall || table !== subjectIndex));
    const inTables =
      (await firstErrorIn(write, tables, 'quick_check')) ??
      (await firstErrorIn(write, isSmall ? tables : configuration, 'integrity_check'));
    if (inTables !== undefined || whole === undefined) return inTables;
    return (await findLogDamage({write})) === undefined ? whole : undefined;
  });

/** The first error in the index of subjects, by which searches find mail. Reading it takes longer than all else. */
export const findIndexDamage = async ({scan}: Pick<Database, 'scan'>): Promise<string | undefined> =>
  ofDamage(async () => firstErrorOf(scan, `quick_check(${subjectIndex})`));

/** The first error in the event log, which may be large. */
export const findLogDamage = async ({write}: Writer): Promise<string | undefined> =>
  ofDamage(async () => firstErrorIn(write, (await tablesOf(write)).filter(isOfLog), 'quick_check'));

const ofDamage = async (find: () => Promise<string | undefined>): Promise<string | undefined> => {
  try {
    return await find();
  } catch (error) {
    if (isDamaged(error)) return 'its pages are not what they were';
    throw error;
  }
};

/** With the tables that SQLite and the indexes of words have for themselves. */
const tablesOf = async (db: SqliteDb): Promise<string[]> => [
  'sqlite_master',
  ...(await query<{name: string}>(db, "SELECT name FROM sqlite_master WHERE type = 'table'")).map(({name}) => name),
];

const firstErrorIn = async (
  db: SqliteDb,
  tables: readonly string[],
  check: 'integrity_check' | 'quick_check',
): Promise<string | undefined> => {
  for (const table of tables) {
    const error = await firstErrorOf(db, `${check}(${table})`);
    if (error !== undefined) return error;
  }
  return undefined;
};

const firstErrorOf = async (db: SqliteDb, check: string): Promise<string | undefined> => {
  const [row] = await db.raw<Record<string, string>[]>(`PRAGMA ${check}`);
  const result = Object.values(row ?? {})[0];
  return result === 'ok' ? undefined : result?.split('\n').at(-1);
};

const sizeOf = async (db: SqliteDb): Promise<number> => {
  const [{page_count: pages = 0} = {}] = await db.raw<{page_count: number}[]>('PRAGMA page_count');
  const [{page_size: bytes = 0} = {}] = await db.raw<{page_size: number}[]>('PRAGMA page_size');
  return pages * bytes;
};

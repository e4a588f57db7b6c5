// Integrity check of the database.
import {type Database, isDamaged} from './database.ts';
import type {SqliteDb} from './query.ts';

/**
 * Up to this size the whole database is checked. For a million held mails the check of all pages takes 3 s, and of all index
 * entries a minute.
 */
const smallBytes = 16 * 1024 * 1024;

/** Tables whose indexes are always checked entry by entry. */
const configuration = ['config_record', 'outbox', 'applied', 'local_state'];

/** The first error, in the words of SQLite. */
export const findDamage = async ({write}: Pick<Database, 'write'>): Promise<string | undefined> => {
  try {
    if ((await sizeOf(write)) <= smallBytes) return await firstErrorOf(write, 'integrity_check(1)');
    const structure = await firstErrorOf(write, 'quick_check(1)');
    if (structure !== undefined) return structure;
    for (const table of configuration) {
      const entries = await firstErrorOf(write, `integrity_check(${table})`);
      if (entries !== undefined) return entries;
    }
    return undefined;
  } catch (error) {
    if (isDamaged(error)) return 'its pages are not what they were';
    throw error;
  }
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

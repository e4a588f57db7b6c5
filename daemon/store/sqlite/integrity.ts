// Whether the database is what SQLite has written.
import type {Database, Db} from './database.ts';
import {isDamaged} from './database.ts';

/** Up to here everything is looked at; a million held mails take 3 s for their pages, and a minute for all entries of their indexes. */
const smallBytes = 16 * 1024 * 1024;

/** Of these every entry of every index is looked at, whatever else there is. */
const configuration = [
  'config_record',
  'domain',
  'api_key',
  'mail_filter',
  'dkim_key',
  'node',
  'outbox',
  'applied',
  'local_state',
];

/** In SQLite's words, the first thing that is wrong. */
export const findDamage = async ({write}: Pick<Database, 'write'>): Promise<string | undefined> => {
  try {
    if ((await sizeOf(write)) <= smallBytes) return await complaintOf(write, 'integrity_check(1)');
    const structure = await complaintOf(write, 'quick_check(1)');
    if (structure !== undefined) return structure;
    for (const table of configuration) {
      const entries = await complaintOf(write, `integrity_check(${table})`);
      if (entries !== undefined) return entries;
    }
    return undefined;
  } catch (error) {
    if (isDamaged(error)) return 'its pages are not what they were';
    throw error;
  }
};

const complaintOf = async (db: Db, check: string): Promise<string | undefined> => {
  const [row] = await db.raw<Record<string, string>[]>(`PRAGMA ${check}`);
  const said = Object.values(row ?? {})[0];
  return said === 'ok' ? undefined : said?.split('\n').at(-1);
};

const sizeOf = async (db: Db): Promise<number> => {
  const [{page_count: pages = 0} = {}] = await db.raw<{page_count: number}[]>('PRAGMA page_count');
  const [{page_size: bytes = 0} = {}] = await db.raw<{page_size: number}[]>('PRAGMA page_size');
  return pages * bytes;
};

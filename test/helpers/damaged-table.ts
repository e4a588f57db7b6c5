// Damage to a table in the database of a node that is stopped.
import {open, readFile} from 'node:fs/promises';
import {openDatabase} from '../../daemon/store/sqlite/database.ts';

export type DamagedTable =
  | 'mail_event'
  | 'mail_event_word_data'
  | 'mail_event_word_docsize'
  | 'held_mail'
  | 'audit'
  | 'held_mail_acted';

/** Overwrites the page that a table or index begins with, or with `page` another one. Everything else stays readable. */
export const damageTable = async (filename: string, table: DamagedTable, page?: number): Promise<void> => {
  const database = await openDatabase(filename);
  await database.write.raw('PRAGMA wal_checkpoint(TRUNCATE)');
  const [{page_size: size = 0} = {}] = await database.read.raw<{page_size: number}[]>('PRAGMA page_size');
  const {rootpage} = await database.read('sqlite_master').where({name: table}).first('rootpage');
  await database.close();
  const file = await open(filename, 'r+');
  try {
    await file.write(Buffer.alloc(size, 0xb5), 0, size, ((page ?? rootpage) - 1) * size);
  } finally {
    await file.close();
  }
};

/** The page in the middle of the table of the event log: entries before and after it stay readable. */
export const middlePage = async (filename: string): Promise<number> => {
  const database = await openDatabase(filename);
  const {rootpage} = await database.read('sqlite_master').where({name: 'mail_event'}).first('rootpage');
  await database.write.raw('PRAGMA wal_checkpoint(TRUNCATE)');
  const [{page_size: size = 0} = {}] = await database.read.raw<{page_size: number}[]>('PRAGMA page_size');
  await database.close();
  const root = (await readFile(filename)).subarray((rootpage - 1) * size, rootpage * size);
  if (root[0] !== 5) throw new Error('the table has one page');
  // The file format of SQLite, section 1.6: the pointers to the cells of an interior page, each of which begins with a page.
  const cells = root.readUInt16BE(3);
  return root.readUInt32BE(root.readUInt16BE(12 + 2 * Math.floor(cells / 2)));
};

// Damage to the event log in the database of a node that is stopped.
import {open} from 'node:fs/promises';
import {openDatabase} from '../../daemon/store/sqlite/database.ts';

/** Overwrites the pages that the table, or the index of its words, begins with. Everything else stays readable. */
export const damageLog = async (filename: string, table: 'mail_event' | 'mail_event_word_data'): Promise<void> => {
  const database = await openDatabase(filename);
  await database.write.raw('PRAGMA wal_checkpoint(TRUNCATE)');
  const [{page_size: size = 0} = {}] = await database.read.raw<{page_size: number}[]>('PRAGMA page_size');
  const {rootpage: page} = await database.read('sqlite_master').where({name: table}).first('rootpage');
  await database.close();
  const file = await open(filename, 'r+');
  try {
    await file.write(Buffer.alloc(size, 0xb5), 0, size, (page - 1) * size);
  } finally {
    await file.close();
  }
};

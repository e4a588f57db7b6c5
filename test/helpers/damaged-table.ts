// Damage to a table in the database of a node that is stopped.
import {open} from 'node:fs/promises';
import {openDatabase} from '../../daemon/store/sqlite/database.ts';

export type DamagedTable =
  | 'mail_event'
  | 'mail_event_word_data'
  | 'mail_event_word_docsize'
  | 'held_mail'
  | 'audit'
  | 'held_mail_acted';

/** Overwrites the page that a table or index begins with. Everything else stays readable. */
export const damageTable = async (filename: string, table: DamagedTable): Promise<void> => {
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

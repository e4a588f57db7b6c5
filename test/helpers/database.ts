// A real database file in a folder that goes away.
import {mkdtemp, rm} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {type Configuration, createConfiguration} from '../../daemon/replication/configuration.ts';
import {type Database, openDatabase} from '../../daemon/store/sqlite/database.ts';

export interface Teardown {
  teardown(close: () => Promise<void>): void;
}

export const testFolder = async (t: Teardown): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'mfd-test-'));
  t.teardown(async () => rm(folder, {recursive: true, force: true}));
  return folder;
};

export interface TestDatabase {
  database: Database;
  filename: string;
}

/** `isDurable: false` leaves out the fsyncs, for tests of many thousand writes that no power cut is part of. */
export const testDatabase = async (t: Teardown, {isDurable = true} = {}): Promise<TestDatabase> => {
  const filename = join(await testFolder(t), 'mfd.db');
  const database = await openDatabase(filename);
  t.teardown(database.close);
  if (!isDurable) await database.write.raw('PRAGMA synchronous = OFF');
  return {database, filename};
};

export const testConfiguration = (
  database: Database,
  {now = Date.now, nodeNo = 1}: {now?: () => number; nodeNo?: number} = {},
): Configuration => createConfiguration({database, nodeNo, now, withRoom: async write => write()});

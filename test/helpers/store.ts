// A real database file in a temporary folder.
import {join} from 'node:path';
import {type Configuration, createConfiguration} from '../../daemon/replication/configuration.ts';
import type {NodeStore} from '../../daemon/services/node-store.ts';
import {type Database, openDatabase} from '../../daemon/store/sqlite/database.ts';
import {createSqliteStore} from '../../daemon/store/sqlite/store.ts';
import {longSearch} from './long-search.ts';
import {testFolder} from './test-folder.ts';

export {testFolder} from './test-folder.ts';

export interface Teardown {
  teardown(close: () => Promise<void>): void;
}

/** With the handles of the database, for what no port does, such as damage. */
export type TestStore = NodeStore & Pick<Database, 'read' | 'write'>;

const withHandles = (database: Database): TestStore => ({
  ...createSqliteStore(database),
  read: database.read,
  write: database.write,
});

export const openTestStore = async (filename: string): Promise<TestStore> =>
  withHandles(await openDatabase(filename, {searchLimit: longSearch}));

/** `isDurable: false` leaves out the fsyncs, for tests with many thousand writes and no power cut. */
export const testDatabase = async (t: Teardown, {isDurable = true} = {}): Promise<{database: Database; filename: string}> => {
  const filename = join(await testFolder(t), 'mfd.db');
  const database = await openDatabase(filename, {searchLimit: longSearch});
  t.teardown(database.close);
  if (!isDurable) await database.write.raw('PRAGMA synchronous = OFF');
  return {database, filename};
};

export const testStore = async (
  t: Teardown,
  options: {isDurable?: boolean} = {},
): Promise<{store: TestStore; filename: string}> => {
  const {database, filename} = await testDatabase(t, options);
  return {store: withHandles(database), filename};
};

export const testConfiguration = (
  store: NodeStore,
  {now = Date.now, nodeNo = 1}: {now?: () => number; nodeNo?: number} = {},
): Configuration => createConfiguration({store, nodeNo, now});

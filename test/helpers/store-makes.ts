// Implementations of the store. The tests of the ports run against each of them, and know nothing else about it.
import {join} from 'node:path';
import test, {type ExecutionContext} from 'ava';
import {createConfiguration} from '../../daemon/replication/configuration.ts';
import type {ConfigStore, HeldQuery, Store} from '../../daemon/services/ports.ts';
import {openSqliteStore} from '../../daemon/store/sqlite/store.ts';
import {type Teardown, testFolder} from './store.ts';

export interface OpenStore {
  store: Store;
  config: ConfigStore;
  heldQuery: HeldQuery;
  /** Closes it and opens it again, as a restarted node does. */
  reopen(): Promise<OpenStore>;
}

/** The node whose mail the store has. */
export const nodeId = 'alpha';

const openSqlite = async (t: Teardown, filename: string): Promise<OpenStore> => {
  const store = await openSqliteStore(filename);
  t.teardown(store.close);
  return {
    store,
    config: createConfiguration({store, nodeNo: 1, now: Date.now}),
    heldQuery: store.heldQuery(nodeId),
    async reopen() {
      await store.close();
      return openSqlite(t, filename);
    },
  };
};

const makes = [{name: 'SQLite', open: async (t: Teardown) => openSqlite(t, join(await testFolder(t), 'mfd.db'))}];

/** Runs a test for each implementation of the store, with an empty store. */
export const testStores = (title: string, work: (t: ExecutionContext, open: OpenStore) => Promise<void>): void => {
  for (const {name, open} of makes) test(`${name}: ${title}`, async t => work(t, await open(t)));
};

// Implementations of the store. The tests of the ports run against each of them, and know nothing else about it.
import {join} from 'node:path';
import test, {type ExecutionContext} from 'ava';
import {createChange, createConfiguration} from '../../daemon/replication/configuration.ts';
import {changedKeys, createNotifier} from '../../daemon/replication/notifier.ts';
import type {CommonStore} from '../../daemon/services/common-store.ts';
import type {ConfigStore, HeldQuery, SampledHeldQuery, Store} from '../../daemon/services/ports.ts';
import type {PostgresSettings} from '../../daemon/store/postgres/connection.ts';
import {openPostgresStore} from '../../daemon/store/postgres/store.ts';
import {openSqliteStore} from '../../daemon/store/sqlite/store.ts';
import {cluster, newCluster} from './common-store.ts';
import {longSearch} from './long-search.ts';
import {type Teardown, testFolder} from './store.ts';
import {testWithPostgres, usePostgres} from './test-with-postgres.ts';

export interface OpenStore {
  store: Store;
  config: ConfigStore;
  heldQuery: HeldQuery;
  /** Closes it and opens it again, as a restarted node does. */
  reopen(): Promise<OpenStore>;
}

/** The node whose mail the store has. */
export const nodeId = 'alpha';

const openSqlite = async (t: Teardown, filename: string): Promise<OpenStore & {heldQuery: SampledHeldQuery}> => {
  const store = await openSqliteStore(filename, {searchLimit: longSearch});
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

const commonConfiguration = (store: CommonStore): ConfigStore => {
  const {publish, onChange} = createNotifier(() => {});
  const write = store.changeTransaction;
  return {
    change: createChange({write, publish: async changed => publish(changedKeys(changed)), nodeNo: 1, now: Date.now}),
    onChange,
  };
};

const openPostgres = async (t: Teardown, settings: PostgresSettings): Promise<OpenStore> => {
  const store = await openPostgresStore({settings, cluster, nodeId, nodeNo: 1, searchLimit: longSearch});
  let isClosed = false;
  const close = async () => {
    if (!isClosed) await store.close();
    isClosed = true;
  };
  t.teardown(close);
  return {
    store,
    config: commonConfiguration(store),
    heldQuery: store.heldQuery,
    async reopen() {
      await close();
      return openPostgres(t, settings);
    },
  };
};

const postgres = usePostgres();

/** For what only the store of one node can do. */
export const testSqlite = (
  title: string,
  work: (t: ExecutionContext, open: Awaited<ReturnType<typeof openSqlite>>) => Promise<void>,
): void => test(`SQLite: ${title}`, async t => work(t, await openSqlite(t, join(await testFolder(t), 'mfd.db'))));

/** Runs a test for each implementation of the store, with an empty store. */
export const testStores = (title: string, work: (t: ExecutionContext, open: OpenStore) => Promise<void>): void => {
  testSqlite(title, work);
  testWithPostgres(title, async t => work(t, await openPostgres(t, await newCluster(postgres()))));
};

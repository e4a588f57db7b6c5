// Stores of several nodes on one PostgreSQL.
import type {CommonStore} from '../../daemon/services/common-store.ts';
import type {PostgresSettings} from '../../daemon/store/postgres/connection.ts';
import {createPostgresTables, openPostgresStore} from '../../daemon/store/postgres/store.ts';
import {longSearch} from './long-search.ts';
import type {PostgresServer} from './postgres-server.ts';
import type {Teardown} from './store.ts';

export const cluster = 'a fingerprint';

/** The settings for a database that has nothing in it yet. */
export const emptyDatabase = async (server: PostgresServer): Promise<PostgresSettings> => {
  const {host, port, user, password} = server;
  const {name: database} = await server.createDatabase();
  return {host, port, user, password, database, hasTls: false, pool: 5};
};

/** A new cluster in an empty database. */
export const newCluster = async (server: PostgresServer): Promise<PostgresSettings> => {
  const settings = await emptyDatabase(server);
  await createPostgresTables(settings, cluster);
  return settings;
};

/** The store as the node with this number has it; closed at the end of the test. */
export const storeOf = async (
  t: Teardown,
  settings: PostgresSettings,
  {nodeId = 'alpha', nodeNo = 1} = {},
): Promise<CommonStore> => {
  const store = await openPostgresStore({settings, cluster, nodeId, nodeNo, searchLimit: longSearch});
  t.teardown(store.close);
  return store;
};

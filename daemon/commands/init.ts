// `mfd init`: creates the first node of a cluster in an empty folder, ready to start.
import {writeFile} from 'node:fs/promises';
import {createAuthority} from '../cluster/certificates.ts';
import {createClusterAuthority} from '../cluster/join-token.ts';
import type {StoreSettings} from '../config/store-settings.ts';
import {makePairs} from '../node/certificate-renewal.ts';
import {CommandError} from '../node/command-error.ts';
import {syncFolders} from '../node/data-folder.ts';
import {writeIdentityFile} from '../node/identity-file.ts';
import {writeIdentity} from '../node/storage.ts';
import {apiHosts} from '../node/tls-files.ts';
import {createChange, createConfiguration} from '../replication/configuration.ts';
import {insertKey} from '../services/access/keys.ts';
import type {ConfigStore} from '../services/ports.ts';
import {inspectPostgres} from '../store/postgres/inspect.ts';
import {createPostgresTables, openPostgresStore} from '../store/postgres/store.ts';
import {openSqliteStore} from '../store/sqlite/store.ts';
import {createTlsFolder, prepareFolder, writeConfig} from './new-folder.ts';
import {localAddresses, type NewNode, type NewNodeOptions, planNode} from './new-node.ts';
import {requireStoreUrl} from './store-options.ts';

/** What `mfd init --json` prints. */
export interface InitReport extends ReturnType<typeof localAddresses> {
  node_id: string;
  api_key: string;
  ca_file: string;
  data: string;
}

interface Needs {
  /** May refuse the plan while nothing exists yet. */
  beforeCreating?(planned: NewNode): Promise<void>;
  warn(text: string): void;
}

/** The first node of a cluster has number 1. */
const founderNo = 1;
const firstKeyLimit = 6000;

/** Refuses a folder with more than a configuration in it. If it fails, the folder is as it was. */
export const initialise = async (options: NewNodeOptions, {beforeCreating, warn}: Needs): Promise<InitReport> => {
  requireStoreUrl(options);
  const planned = await planNode(options);
  await beforeCreating?.(planned);
  if (planned.store) await requireEmpty(planned.store, warn);
  const {folder, nodeId, config} = planned;

  const prepared = await prepareFolder(planned);
  try {
    const api_key = await create(planned);
    return {node_id: nodeId, ...localAddresses(config), api_key, ca_file: folder.caCert, data: folder.root};
  } catch (error) {
    await prepared.restore();
    throw error;
  }
};

const requireEmpty = async (settings: StoreSettings, warn: Needs['warn']): Promise<void> => {
  const {hasCluster, warnings} = await inspectPostgres(settings, undefined);
  if (hasCluster)
    throw new CommandError(
      `the database ${settings.database} holds a cluster already; join it instead (mfd join), or name an empty database`,
    );
  for (const warning of warnings) warn(warning);
};

/** Resolves with the first key. */
const create = async (planned: NewNode): Promise<string> => {
  const {folder, nodeId, config, store} = planned;
  const identity = {nodeId, nodeNo: founderNo};
  await createTlsFolder(planned);
  const pair = await createAuthority(Date.now());
  await writeFile(folder.caKey, pair.key, {mode: 0o600, flush: true});
  await writeFile(folder.caCert, pair.cert, {mode: 0o644, flush: true});
  const key = store ? undefined : await createDatabase(planned);
  if (store) await writeIdentityFile(folder.identity, identity);
  // Written after the data: a configuration that mfd wrote marks a folder that holds a node.
  await writeConfig(planned);
  const authority = createClusterAuthority(pair, Date.now);
  await makePairs({folder, identity, hosts: apiHosts(config), certify: authority.certify});
  await syncFolders(folder);
  // Last, because this folder can be restored, and the shared database cannot.
  return key ?? createShared(planned, store as StoreSettings, authority.fingerprint);
};

/** Creates the database with the identity and the founder; returns the key. */
const createDatabase = async (planned: NewNode): Promise<string> => {
  const store = await openSqliteStore(planned.folder.database);
  try {
    await store.transaction(async tx => writeIdentity(tx, {nodeId: planned.nodeId, nodeNo: founderNo}));
    return await createFounder(createConfiguration({store, nodeNo: founderNo, now: Date.now}), planned);
  } finally {
    await store.close();
  }
};

const createShared = async (planned: NewNode, settings: StoreSettings, cluster: string): Promise<string> => {
  await createPostgresTables(settings, cluster);
  try {
    const store = await openPostgresStore({settings, nodeId: planned.nodeId, nodeNo: founderNo, cluster});
    try {
      const {changeTransaction: write} = store;
      const change = createChange({write, publish: async () => {}, nodeNo: founderNo, now: Date.now});
      return await createFounder({change}, planned);
    } finally {
      await store.close();
    }
  } catch (error) {
    const why = error instanceof Error ? error.message.split('\n')[0] : String(error);
    throw new CommandError(
      `the first node could not be stored: ${why}; the database ${settings.database} has tables now: drop it, create it again, and repeat mfd init`,
    );
  }
};

/** Creates the node's own record and the first key, which it returns. */
const createFounder = async ({change}: Pick<ConfigStore, 'change'>, {nodeId, fqdn}: NewNode): Promise<string> => {
  const created = await change(async tx => {
    await tx.create('node', founderNo, {
      node_id: nodeId,
      fqdn,
      cluster_url: null,
      api_url: null,
      created_at: tx.at,
    });
    const wanted = {name: 'admin', scope: 'full-admin', rate_limit_per_minute: firstKeyLimit} as const;
    return insertKey(tx, {keyId: null, remoteAddress: null}, wanted);
  });
  return created.key;
};

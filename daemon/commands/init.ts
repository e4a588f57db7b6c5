// `mfd init`: creates the first node of a cluster in an empty folder, ready to start.
import {chmod, mkdir, writeFile} from 'node:fs/promises';
import {createAuthority} from '../cluster/certificates.ts';
import {createClusterAuthority} from '../cluster/join-token.ts';
import {makePairs} from '../node/certificate-renewal.ts';
import {syncFolders} from '../node/data-folder.ts';
import {writeIdentity} from '../node/storage.ts';
import {apiHosts} from '../node/tls-files.ts';
import {createConfiguration} from '../replication/configuration.ts';
import {insertKey} from '../services/access/keys.ts';
import {openSqliteStore} from '../store/sqlite/store.ts';
import {localAddresses, type NewNode, type NewNodeOptions, planNode} from './new-node.ts';

/** What `mfd init --json` prints. */
export interface InitReport extends ReturnType<typeof localAddresses> {
  node_id: string;
  api_key: string;
  ca_file: string;
  data: string;
}

/** The first node of a cluster has number 1. */
const founderNo = 1;
const firstKeyLimit = 6000;

/**
 * Refuses a folder with more than a configuration in it, and leaves it unchanged. `beforeCreating` may refuse the plan while nothing
 * exists yet.
 */
export const initialise = async (
  options: NewNodeOptions,
  beforeCreating?: (planned: NewNode) => Promise<void>,
): Promise<InitReport> => {
  const planned = await planNode(options);
  await beforeCreating?.(planned);
  const {folder, nodeId, fqdn, config, configText} = planned;

  await mkdir(folder.root, {recursive: true, mode: 0o700});
  await chmod(folder.root, 0o700);
  await mkdir(folder.tls, {mode: 0o700});
  const authority = await createAuthority(Date.now());
  await writeFile(folder.caKey, authority.key, {mode: 0o600, flush: true});
  await writeFile(folder.caCert, authority.cert, {mode: 0o644, flush: true});
  const api_key = await createDatabase(folder.database, nodeId, fqdn);
  // Written last: a configuration that mfd wrote marks a folder that holds a node.
  if (configText !== undefined) await writeFile(folder.config, configText, {mode: 0o600, flush: true});
  const {certify} = createClusterAuthority(authority, Date.now);
  await makePairs({folder, identity: {nodeId, nodeNo: founderNo}, hosts: apiHosts(config), certify});
  await syncFolders(folder);

  return {node_id: nodeId, ...localAddresses(config), api_key, ca_file: folder.caCert, data: folder.root};
};

/** Creates the database with the identity, the node's own record and the first key; returns the key. */
const createDatabase = async (filename: string, nodeId: string, fqdn: string): Promise<string> => {
  const store = await openSqliteStore(filename);
  try {
    await store.transaction(async tx => writeIdentity(tx, {nodeId, nodeNo: founderNo}));
    const configuration = createConfiguration({store, nodeNo: founderNo, now: Date.now});
    const created = await configuration.change(async tx => {
      await tx.create('node', founderNo, {
        node_id: nodeId,
        fqdn,
        cluster_url: null,
        api_url: null,
        created_at: tx.at,
      });
      const wanted = {name: 'admin', scope: 'full-admin', rate_limit_per_minute: firstKeyLimit} as const;
      return insertKey(tx, {keyId: null, remoteAddress: null}, wanted, undefined);
    });
    return created.key;
  } finally {
    await store.close();
  }
};

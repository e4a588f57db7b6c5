// `mfd join`: creates a node of an existing cluster in an empty folder, ready to start with the whole configuration.
// Before the cluster has admitted the node, a failure leaves nothing behind at either end.

import {access, chmod, constants, mkdir, readdir, rm, writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import {Fault} from '../../shared/fault.ts';
import {catchUp} from '../cluster/catch-up.ts';
import {createPeerClient, type PeerClient} from '../cluster/peer-client.ts';
import {findReachProblem} from '../cluster/reachability.ts';
import {CommandError} from '../node/command-error.ts';
import {syncFolders} from '../node/data-folder.ts';
import {listenOf} from '../node/free-addresses.ts';
import {writeIdentity} from '../node/storage.ts';
import {requireOurs, writePairs} from '../node/tls-files.ts';
import {createConfiguration} from '../replication/configuration.ts';
import {createReplication} from '../replication/replication.ts';
import type {NodeIdentity} from '../services/access/actor.ts';
import type {JoinAnswer} from '../services/cluster/join-protocol.ts';
import type {ChangeSource} from '../services/cluster/replication-ports.ts';
import {openSqliteStore} from '../store/sqlite/store.ts';
import {type Admission, readToken, requestToJoin, withAdvice} from './join-request.ts';
import {localAddresses, type NewNode, type NewNodeOptions, planNode} from './new-node.ts';

/** What `mfd join --json` prints. */
export type JoinReport = ReturnType<typeof reportOf>;

const snapshotAttempts = 3;

/**
 * `token` is what `mfctl cluster token` printed. Every error is one line that says whether anything was done. `warning` is a
 * sentence for the operator who starts the node.
 */
export const joinCluster = async (
  token: string,
  {version, ...options}: NewNodeOptions & {version: string},
): Promise<{joined: JoinReport; warning: string | undefined}> => {
  const ticket = readToken(token);
  const node = await planNode(options);

  const folder = await prepareFolder(node);
  const {aborted, stopCatching} = catchSignals();
  try {
    const admission = await requestToJoin(ticket, node, {version, aborted});
    const reachProblem = await setUp(node, admission, aborted).catch(error => {
      const why = aborted.aborted ? 'interrupted' : textOf(error);
      throw withAdvice(node.nodeId, `the cluster has taken the node in, but it could not be set up here: ${why}`);
    });
    return {joined: reportOf(node, admission.answer), warning: reachProblem && warningOf(node, reachProblem)};
  } catch (error) {
    await folder.restore();
    throw error;
  } finally {
    stopCatching();
  }
};

const reportOf = ({nodeId, config, folder}: NewNode, {node_no}: JoinAnswer) => ({
  node_id: nodeId,
  node_no,
  ...localAddresses(config),
  ca_file: folder.caCert,
  data: folder.root,
});

const warningOf = ({folder}: NewNode, reachProblem: string): string =>
  `${reachProblem}. Open the port for the other nodes, or correct cluster.advertise (or fqdn) in ${folder.config} before mfd start; until then what the others change comes late, and they do not see what this node holds`;

/**
 * Signals abort the join in order: a process that ended at once after the request would leave half a node here, and a whole one
 * in the cluster that nobody knows of. A second signal ends the process all the same.
 */
const catchSignals = (): {aborted: AbortSignal; stopCatching(): void} => {
  const controller = new AbortController();
  const abort = () => controller.abort(new CommandError('interrupted; nothing was done'));
  process.once('SIGINT', abort).once('SIGTERM', abort);
  return {
    aborted: controller.signal,
    stopCatching: () => void process.off('SIGINT', abort).off('SIGTERM', abort),
  };
};

/** Creates the folder, checks that it can be written to, and notes its entries, so that `restore` can remove all new ones. */
const prepareFolder = async ({folder: {root}}: NewNode): Promise<{restore(): Promise<void>}> => {
  const isNew = (await mkdir(root, {recursive: true, mode: 0o700})) !== undefined;
  await access(root, constants.W_OK);
  const before = await readdir(root);
  return {
    async restore() {
      if (isNew) await rm(root, {recursive: true, force: true});
      else
        for (const name of await readdir(root))
          if (!before.includes(name)) await rm(join(root, name), {recursive: true, force: true});
    },
  };
};

/**
 * Writes the certificates, fetches all replicated records, and asks the other node to connect to this one. Resolves with why it
 * cannot, or with undefined when it can.
 */
const setUp = async (
  {folder, nodeId, config, configText}: NewNode,
  {answer, keys, ca, peer, address}: Admission,
  aborted: AbortSignal,
): Promise<string | undefined> => {
  aborted.throwIfAborted();
  await chmod(folder.root, 0o700);
  await mkdir(folder.tls, {mode: 0o700});
  await writeFile(folder.caCert, ca, {mode: 0o644, flush: true});
  const pairs = {
    api: {key: keys.api.key, cert: answer.api_cert},
    cluster: {key: keys.node.key, cert: answer.node_cert},
  };
  const identity = {nodeId, nodeNo: answer.node_no};
  requireOurs(pairs, ca, identity);
  await writePairs(folder, pairs);

  const client = createPeerClient({peer, address: () => address, credentials: {...pairs.cluster, ca}});
  aborted.addEventListener('abort', client.close);
  const interruptible: PeerClient = {
    ...client,
    async ask(schema, request) {
      aborted.throwIfAborted();
      return client.ask(schema, request);
    },
  };
  let reachProblem: string | undefined;
  try {
    await fetchRecords({client: interruptible, source: {node: peer, path: 'join'}}, folder.database, identity);
    reachProblem = await findReachProblem(client, listenOf(config.cluster.listen));
  } finally {
    client.close();
  }
  // Written last: a configuration that mfd wrote marks a folder that holds a node.
  if (configText !== undefined) await writeFile(folder.config, configText, {mode: 0o600, flush: true});
  await syncFolders(folder);
  return reachProblem;
};

const fetchRecords = async (
  from: {client: PeerClient; source: ChangeSource},
  filename: string,
  identity: NodeIdentity,
): Promise<void> => {
  const {nodeNo} = identity;
  const store = await openSqliteStore(filename);
  try {
    await store.transaction(async tx => writeIdentity(tx, identity));
    const configuration = createConfiguration({store, nodeNo, now: Date.now});
    const replication = createReplication({store, configuration, nodeNo});
    for (let left = snapshotAttempts - 1; ; left -= 1)
      try {
        await catchUp(from, replication, nodeNo);
        return;
      } catch (error) {
        if (left === 0) throw error;
      }
  } finally {
    await store.close();
  }
};

const textOf = (error: unknown): string =>
  error instanceof Fault ? error.detail : error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error);

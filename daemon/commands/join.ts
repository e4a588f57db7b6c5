// `mfd join`: creates a node of an existing cluster in an empty folder, ready to start with the whole configuration.
// Before the cluster has admitted the node, a failure leaves nothing behind at either end.

import {writeFile} from 'node:fs/promises';
import {Fault} from '../../shared/fault.ts';
import {catchUp} from '../cluster/catch-up.ts';
import {createPeerClient, type PeerClient} from '../cluster/peer-client.ts';
import {findReachProblem} from '../cluster/reachability.ts';
import {CommandError} from '../node/command-error.ts';
import {syncFolders} from '../node/data-folder.ts';
import {listenOf} from '../node/free-addresses.ts';
import {writeIdentityFile} from '../node/identity-file.ts';
import {writeIdentity} from '../node/storage.ts';
import {requireOurs, writePairs} from '../node/tls-files.ts';
import {createConfiguration} from '../replication/configuration.ts';
import {createReplication} from '../replication/replication.ts';
import type {NodeIdentity} from '../services/actor.ts';
import type {JoinAnswer} from '../services/cluster/join-protocol.ts';
import type {ChangeSource} from '../services/cluster/replication-ports.ts';
import {openSqliteStore} from '../store/sqlite/store.ts';
import {type Admission, askStoreUrl, findAdmitter, readToken, requestToJoin, withAdvice} from './join-request.ts';
import {checkStoreOf, withStoreOfCluster} from './join-store.ts';
import {createTlsFolder, prepareFolder, writeConfig} from './new-folder.ts';
import {localAddresses, type NewNode, type NewNodeOptions, planNode} from './new-node.ts';

/** What `mfd join --json` prints. */
export type JoinReport = ReturnType<typeof reportOf>;

const snapshotAttempts = 3;

/**
 * `token` is what `mfctl cluster token` printed. Every error is one line that says whether anything was done. `warnings` are
 * sentences for the operator who starts the node.
 */
export const joinCluster = async (
  token: string,
  {version, ...options}: NewNodeOptions & {version: string},
): Promise<{joined: JoinReport; warnings: string[]}> => {
  const ticket = readToken(token);
  const planned = await planNode(options);

  const folder = await prepareFolder(planned);
  const {aborted, stopCatching} = catchSignals();
  try {
    const admitter = await findAdmitter(ticket, aborted);
    const node = await withStoreOfCluster({planned, options, storeUrl: await askStoreUrl(admitter, aborted)});
    const warnings = await checkStoreOf(node, ticket);
    const admission = await requestToJoin(admitter, node, {version, aborted});
    const reachProblem = await setUp(node, admission, aborted).catch(error => {
      const why = aborted.aborted ? 'interrupted' : textOf(error);
      throw withAdvice(node.nodeId, `the cluster has admitted the node, but it could not be set up here: ${why}`);
    });
    const found = reachProblem === undefined ? [] : [warningOf(node, reachProblem)];
    return {joined: reportOf(node, admission.answer), warnings: [...warnings, ...found]};
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
  `${reachProblem}. Open the port for the other nodes, or correct cluster.advertise (or fqdn) in ${folder.config} before mfd start; until then changes of the others arrive late, and they do not see what this node holds`;

/**
 * Signals abort the join in order: a process that ended at once after the request would leave half a node here, and a whole one
 * in the cluster that nobody knows of. A second signal ends the process anyway.
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

/**
 * Writes the certificates, fetches all replicated records into a store of its own, and asks the other node to connect to this one. Resolves with why it
 * cannot, or with undefined when it can.
 */
const setUp = async (
  node: NewNode,
  {answer, keys, ca, peer, address}: Admission,
  aborted: AbortSignal,
): Promise<string | undefined> => {
  const {folder, nodeId, config} = node;
  aborted.throwIfAborted();
  await createTlsFolder(node);
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
    if (node.store) await writeIdentityFile(folder.identity, identity);
    else await fetchRecords({client: interruptible, source: {node: peer, path: 'join'}}, folder.database, identity);
    reachProblem = await findReachProblem(client, listenOf(config.cluster.listen));
  } finally {
    client.close();
  }
  // Written last: a configuration that mfd wrote marks a folder that holds a node.
  await writeConfig(node);
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

// `mfd join`: a node of a cluster that is there already, from an empty folder to one that can start with all it has to know.
// Until the cluster has said yes, nothing is left behind at either end.

import {X509Certificate} from 'node:crypto';
import {access, chmod, constants, mkdir, readdir, rm, writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import {Fault} from '../../shared/fault.ts';
import {formatHostPort, type HostPort, parseHostPort} from '../../shared/host-port.ts';
import {type FirstContact, lookAt} from '../cluster/ca-discovery.ts';
import {catchUp} from '../cluster/catch-up.ts';
import {createRequest, ticketKey} from '../cluster/certificates.ts';
import {decodeJoinToken, type JoinToken} from '../cluster/join-token.ts';
import {createPeerClient, type PeerClient, type PeerCredentials} from '../cluster/peer-client.ts';
import {findWhyUnreached} from '../cluster/reachability.ts';
import {apiUrl, clusterUrl, listenOf} from '../node/addresses.ts';
import {CommandError} from '../node/command-error.ts';
import {syncFolders} from '../node/data-folder.ts';
import {writeIdentity} from '../node/identity.ts';
import {apiHosts, requireOurs, writePairs} from '../node/tls-files.ts';
import {createConfiguration} from '../replication/configuration.ts';
import {createReplication} from '../replication/replication.ts';
import {type JoinAnswer, joinAnswerSchema} from '../services/cluster/join-protocol.ts';
import type {ChangeSource} from '../services/cluster/replication-ports.ts';
import type {NodeIdentity} from '../services/ports.ts';
import {openSqliteStore} from '../store/sqlite/store.ts';
import {localAddresses, type NewNode, type NewNodeOptions, planNode} from './new-node.ts';

/** What `mfd join --json` prints. */
export interface JoinReport {
  node_id: string;
  node_no: number;
  api_url: string;
  cluster_url: string;
  metrics_url: string;
  smtp: string;
  ca_file: string;
  data: string;
}

interface Keys {
  node: {key: string; request: string};
  api: {key: string; request: string};
}

const answerMs = 15_000;
const snapshotAttempts = 3;

/**
 * `token` as `mfctl cluster token` printed it. Every error is one line that says whether anything was done. `warning` is for
 * whoever starts the node.
 */
export const joinCluster = async (
  token: string,
  options: NewNodeOptions & {version: string},
): Promise<{joined: JoinReport; warning: string | undefined}> => {
  const ticket = read(token);
  const node = await planNode(options);
  const address = parseHostPort(ticket.address) ?? {host: '', port: 0};
  const keys = {node: await createRequest(), api: await createRequest()};

  const folder = await takeFolder(node);
  const signals = catchSignals();
  try {
    const contact = await meet(address, ticket, signals.aborted);
    const application = {node, keys, contact, address, aborted: signals.aborted};
    const answer = await apply({...application, ticket, version: options.version});
    const unreached = await settle({...application, answer}).catch(error => {
      const why = signals.aborted.aborted ? 'interrupted' : textOf(error);
      throw withAdvice(node.nodeId, `the cluster has taken the node in, but it could not be set up here: ${why}`);
    });
    return {joined: reportOf(node, answer), warning: unreached && warningOf(node, unreached)};
  } catch (error) {
    await folder.giveBack();
    throw error;
  } finally {
    signals.letGo();
  }
};

const reportOf = ({nodeId, config, folder: places}: NewNode, {node_no}: JoinAnswer): JoinReport => ({
  node_id: nodeId,
  node_no,
  ...localAddresses(config),
  ca_file: places.caCert,
  data: places.root,
});

const warningOf = ({folder}: NewNode, unreached: string): string =>
  `${unreached}. Open the port for the other nodes, or correct cluster.advertise (or fqdn) in ${folder.config} before mfd start; until then what the others change comes late, and they do not see what this node holds`;

/**
 * Once the cluster has been asked, a process that just ended would leave half a node here, and a whole one there that nobody
 * knows of. The second signal ends it all the same.
 */
const catchSignals = (): {aborted: AbortSignal; letGo(): void} => {
  const controller = new AbortController();
  const abort = () => controller.abort(new CommandError('interrupted; nothing was done'));
  process.once('SIGINT', abort).once('SIGTERM', abort);
  return {
    aborted: controller.signal,
    letGo: () => void process.off('SIGINT', abort).off('SIGTERM', abort),
  };
};

const read = (text: string): JoinToken & {credentials: Omit<PeerCredentials, 'ca'>} => {
  try {
    const token = decodeJoinToken(text);
    const certificate = new X509Certificate(token.certificate);
    if (Date.parse(certificate.validTo) <= Date.now())
      throw new CommandError(`this join token expired before ${certificate.validTo}; make a new one: mfctl cluster token`);
    return {...token, credentials: {key: ticketKey(token.seed), cert: certificate.toString()}};
  } catch (error) {
    throw asCommandError(error);
  }
};

/** The folder is made and can be written to; what is in it from then on can be taken away again. */
const takeFolder = async ({folder: {root}}: NewNode): Promise<{giveBack(): Promise<void>}> => {
  const isNew = (await mkdir(root, {recursive: true, mode: 0o700})) !== undefined;
  await access(root, constants.W_OK);
  const before = await readdir(root);
  return {
    async giveBack() {
      if (isNew) await rm(root, {recursive: true, force: true});
      else
        for (const name of await readdir(root))
          if (!before.includes(name)) await rm(join(root, name), {recursive: true, force: true});
    },
  };
};

const meet = async (address: HostPort, {caFingerprint, certificate}: JoinToken, aborted: AbortSignal): Promise<FirstContact> => {
  const where = formatHostPort(address);
  const contact = await lookAt(address, caFingerprint).catch((error: Error) => {
    throw new CommandError(
      `the node that made the token cannot be reached at ${where} (${error.message}); nothing was done. Is it running, and does it listen for other nodes there?`,
    );
  });
  if (!contact)
    throw new CommandError(
      `${where} is not a node of the cluster that the token is for; nothing was done. Make a new token on a node of that cluster`,
    );
  // The node there would just hang up.
  if (!new X509Certificate(certificate).verify(new X509Certificate(contact.ca).publicKey))
    throw new CommandError('this join token is damaged: its parts are of two clusters; nothing was done, make a new token');
  aborted.throwIfAborted();
  return contact;
};

interface Application {
  node: NewNode;
  keys: Keys;
  contact: FirstContact;
  address: HostPort;
  ticket: ReturnType<typeof read>;
  version: string;
  aborted: AbortSignal;
}

const apply = async ({node, keys, contact, address, ticket, version, aborted}: Application): Promise<JoinAnswer> => {
  const {nodeId, fqdn, config} = node;
  const client = createPeerClient({
    peer: contact.peer,
    address: () => address,
    credentials: {...ticket.credentials, ca: contact.ca},
  });
  aborted.addEventListener('abort', client.close);
  const body = {
    node_id: nodeId,
    fqdn,
    cluster_url: clusterUrl(config, fqdn, listenOf(config.cluster.listen)),
    api_url: apiUrl(config, fqdn, listenOf(config.api.listen)),
    version,
    node_csr: keys.node.request,
    api_csr: keys.api.request,
    api_hosts: apiHosts(config),
  };
  try {
    return await client.ask(joinAnswerSchema, {method: 'POST', path: 'join', body, deadlineMs: answerMs});
  } catch (error) {
    if (error instanceof Fault && error.code === 'outcome_unknown')
      throw withAdvice(
        nodeId,
        `node ${contact.peer.nodeId} was asked to let this one in, and its answer was ${aborted.aborted ? 'not waited for' : 'lost'}`,
      );
    aborted.throwIfAborted();
    throw asCommandError(error);
  } finally {
    client.close();
  }
};

/** Writes down what the cluster has answered, takes over all that is replicated, and has the other node try to reach this one. */
const settle = async ({
  node: {folder, nodeId, config, configText},
  keys,
  answer,
  contact,
  address,
  aborted,
}: Omit<Application, 'ticket' | 'version'> & {answer: JoinAnswer}): Promise<string | undefined> => {
  aborted.throwIfAborted();
  await chmod(folder.root, 0o700);
  await mkdir(folder.tls, {mode: 0o700});
  await writeFile(folder.caCert, contact.ca, {mode: 0o644, flush: true});
  const pairs = {
    api: {key: keys.api.key, cert: answer.api_cert},
    cluster: {key: keys.node.key, cert: answer.node_cert},
  };
  requireOurs(pairs, contact.ca, {nodeId, nodeNo: answer.node_no});
  await writePairs(folder, pairs);

  const client = createPeerClient({
    peer: contact.peer,
    address: () => address,
    credentials: {...pairs.cluster, ca: contact.ca},
  });
  aborted.addEventListener('abort', client.close);
  const interruptible: PeerClient = {
    ...client,
    async ask(schema, request) {
      aborted.throwIfAborted();
      return client.ask(schema, request);
    },
  };
  let unreached: string | undefined;
  try {
    const source = {node: contact.peer, path: 'join'} as const;
    await takeOver({client: interruptible, source}, folder.database, {nodeId, nodeNo: answer.node_no});
    unreached = await findWhyUnreached(client, listenOf(config.cluster.listen));
  } finally {
    client.close();
  }
  // Last: one that mfd writes is what says that a node lives here.
  if (configText !== undefined) await writeFile(folder.config, configText, {mode: 0o600, flush: true});
  await syncFolders(folder);
  return unreached;
};

const takeOver = async (
  from: {client: PeerClient; source: ChangeSource},
  filename: string,
  identity: NodeIdentity,
): Promise<void> => {
  const {nodeNo} = identity;
  const store = await openSqliteStore(filename);
  try {
    await store.transaction(async tx => writeIdentity(tx, identity));
    const configuration = createConfiguration({store, nodeNo, now: Date.now, withReserve: async write => write()});
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

const asCommandError = (error: unknown): unknown => (error instanceof Fault ? new CommandError(error.detail) : error);

const textOf = (error: unknown): string =>
  error instanceof Fault ? error.detail : error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error);

const withAdvice = (nodeId: string, what: string): CommandError =>
  new CommandError(
    `${what}. Look with mfctl cluster status; if ${nodeId} is there, take it out with mfctl cluster remove ${nodeId}, and join again with a new token`,
  );

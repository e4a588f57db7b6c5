// Request to join a cluster: reads the token, finds the node that made it, and asks that node for a number and certificates.

import {X509Certificate} from 'node:crypto';
import {Fault} from '../../shared/fault.ts';
import {formatHostPort, type HostPort, parseHostPort} from '../../shared/host-port.ts';
import {type DiscoveredCa, discoverCa} from '../cluster/ca-discovery.ts';
import {createRequest, ticketKey} from '../cluster/certificates.ts';
import {decodeJoinToken, type JoinToken} from '../cluster/join-token.ts';
import {createPeerClient, type PeerClient, type PeerCredentials} from '../cluster/peer-client.ts';
import {CommandError} from '../node/command-error.ts';
import {apiUrl, clusterUrl, listenOf} from '../node/free-addresses.ts';
import {apiHosts} from '../node/tls-files.ts';
import {type JoinAnswer, joinMessages} from '../services/cluster/join-protocol.ts';
import {kinds} from '../services/records.ts';
import type {NewNode} from './new-node.ts';

/** A token that has not expired, with the credentials for the request. */
export interface Ticket extends JoinToken {
  credentials: Omit<PeerCredentials, 'ca'>;
}

/** The node that made the token. */
interface Admitter extends DiscoveredCa {
  /** Where `peer` listens for other nodes. */
  address: HostPort;
  /** Each request has a client of its own: over a connection that was kept and broke, a request is sent twice. */
  connect(): PeerClient;
}

/** The cluster has admitted the node. */
export interface Admission extends Omit<Admitter, 'connect'> {
  answer: JoinAnswer;
  keys: NodeKeys;
}

interface NodeKeys {
  node: {key: string; request: string};
  api: {key: string; request: string};
}

const answerMs = 15_000;

/** Throws a CommandError for a text that is not a token, or one that is damaged or expired. */
export const readToken = (text: string): Ticket => {
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

/** Once `aborted`, rejects with its reason, and the clients are closed. */
export const findAdmitter = async (ticket: Ticket, aborted: AbortSignal): Promise<Admitter> => {
  const address = parseHostPort(ticket.address) ?? {host: '', port: 0};
  const discovered = await discoverCluster(address, ticket);
  aborted.throwIfAborted();
  const {ca, peer} = discovered;
  return {
    ...discovered,
    address,
    connect() {
      const client = createPeerClient({peer, address: () => address, credentials: {...ticket.credentials, ca}});
      aborted.addEventListener('abort', client.close);
      return client;
    },
  };
};

/** The `store.url` of the cluster, as its node has it; undefined when every node has a store of its own. */
export const askStoreUrl = async ({connect}: Admitter, aborted: AbortSignal): Promise<string | undefined> => {
  const client = connect();
  try {
    const {store_url} = await client.ask(joinMessages.terms.answer, {...joinMessages.terms.at, deadlineMs: answerMs});
    return store_url ?? undefined;
  } catch (error) {
    aborted.throwIfAborted();
    // Of a version before 0.7, which knows no common store, or because of the token: the request to join says so.
    if (error instanceof Fault && error.code === 'insufficient_scope') return undefined;
    throw error instanceof Fault ? new CommandError(`${error.detail}; nothing was done`) : error;
  } finally {
    client.close();
  }
};

/** Every CommandError says whether anything was done. Once `aborted`, rejects with its reason, or says what may have been done. */
export const requestToJoin = async (
  {connect, ...admitter}: Admitter,
  node: NewNode,
  {version, aborted}: {version: string; aborted: AbortSignal},
): Promise<Admission> => {
  const keys = {node: await createRequest(), api: await createRequest()};
  aborted.throwIfAborted();
  const client = connect();
  const body = {...describeNode(node), version, kinds: [...kinds], node_csr: keys.node.request, api_csr: keys.api.request};
  try {
    const answer = await client.ask(joinMessages.join.answer, {...joinMessages.join.at, body, deadlineMs: answerMs});
    return {...admitter, answer, keys};
  } catch (error) {
    if (error instanceof Fault && error.code === 'outcome_unknown')
      throw withAdvice(
        node.nodeId,
        `node ${admitter.peer.nodeId} was asked to let this one in, and its answer was ${aborted.aborted ? 'not waited for' : 'lost'}`,
      );
    aborted.throwIfAborted();
    throw asCommandError(error);
  } finally {
    client.close();
  }
};

export const withAdvice = (nodeId: string, what: string): CommandError =>
  new CommandError(
    `${what}. Check mfctl cluster status; if ${nodeId} is there, remove it with mfctl cluster remove ${nodeId}, and join again with a new token`,
  );

const discoverCluster = async (address: HostPort, {caFingerprint, certificate}: JoinToken): Promise<DiscoveredCa> => {
  const where = formatHostPort(address);
  const discovered = await discoverCa(address, caFingerprint).catch((error: Error) => {
    throw new CommandError(
      `the node that made the token cannot be reached at ${where} (${error.message}); nothing was done. Is it running, and does it listen for other nodes there?`,
    );
  });
  if (!discovered)
    throw new CommandError(
      `${where} is not a node of the cluster that the token is for; nothing was done. Make a new token on a node of that cluster`,
    );
  // The node would close the connection without an answer.
  if (!new X509Certificate(certificate).verify(new X509Certificate(discovered.ca).publicKey))
    throw new CommandError('this join token is damaged: its parts belong to two clusters; nothing was done, make a new token');
  return discovered;
};

const describeNode = ({nodeId, fqdn, config, store}: NewNode) => ({
  node_id: nodeId,
  fqdn,
  cluster_url: clusterUrl(config, fqdn, listenOf(config.cluster.listen)),
  api_url: apiUrl(config, fqdn, listenOf(config.api.listen)),
  api_hosts: apiHosts(config),
  store: store ? 'shared' : 'own',
});

const asCommandError = (error: unknown): unknown => (error instanceof Fault ? new CommandError(error.detail) : error);

// Admission of nodes to the cluster, and renewal of their certificates.
import {Fault} from '../../../shared/fault.ts';
import {canonicalHost, isLoopback, parseHostPort} from '../../../shared/host-port.ts';
import type {NodeIdentity} from '../actor.ts';
import type {ConfigStore, ConfigTransaction, Store} from '../ports.ts';
import type {StoredNode} from '../records.ts';
import type {Authorities, Authority} from './authority.ts';
import {type CertificateSubject, type IssuedNames, ownerOf, ownNames} from './certificate-names.ts';
import type {CertificateRequests, Certificates, JoinAnswer, JoinRequest, JoinTerms} from './join-protocol.ts';
import {mayAdmit} from './join-tokens.ts';
import type {NodeDirectory} from './membership.ts';
import type {StoredJoinToken} from './stored-trust.ts';

export interface Joining {
  /** Throws a Fault with the reason if a token is unknown, used or expired. */
  requireToken(tokenId: string): Promise<void>;
  /** What the bearer of a token has to know before it asks to be admitted. */
  terms(): JoinTerms;
  /** Admits the bearer of a token and marks the token as used. Otherwise throws a Fault with the reason; the token stays valid. */
  admit(bearer: {tokenId: string; remoteAddress: string | null}, request: JoinRequest): Promise<JoinAnswer>;
  /** Issues new certificates for a node of the cluster that has presented its certificate, which may have expired. */
  renew(peer: RenewingPeer, requests: CertificateRequests): Promise<Certificates>;
  /** Records a node number from a presented certificate: it is in use, even if the records here do not contain it. */
  seen(nodeNo: number): void;
  /**
   * Starts to admit nodes. Unless all peers have answered, the next node number skips some after the known ones, in case the database
   * was restored from an older copy.
   */
  begin(haveAllAnswered: boolean): void;
}

interface RenewingPeer extends NodeIdentity {
  /** The names in the presented certificate. */
  given: string[];
  /** When the certificate expires or has expired, in milliseconds since 1970. */
  endMs: number;
  remoteAddress: string | null;
}

interface Needs {
  store: Store;
  configuration: ConfigStore;
  authorities: Authorities;
  directory: NodeDirectory;
  issuedNames: Pick<IssuedNames, 'prepare' | 'holders' | 'issued'>;
  colocatedNodes: ColocatedNodes;
  nodeNo: number;
  /** The `store.url` of this node; undefined for a store of its own. */
  storeUrl?: string | undefined;
  now: () => number;
}

/** A stamp has two bytes for the node number. */
const maxNodeNo = 0xffff;
/** More nodes than are likely to have joined since the last backup. */
const skippedNos = 16;

export const createJoining = (needs: Needs): Joining => {
  const {store, configuration, authorities, issuedNames, colocatedNodes, nodeNo, storeUrl, now} = needs;
  let hasBegun = false;
  let greatestSeen = 0;
  /** How many numbers to skip before the first one assigned after a start without answers from all peers. */
  let skipCount = 0;

  const ownAuthority = async (advice: string): Promise<Authority> => {
    const own = await authorities.own();
    if (!own) throw new Fault('unavailable', `this node has no key of the cluster’s authority; ${advice}`);
    return own;
  };
  return {
    async requireToken(tokenId) {
      const token = await store.trust.findJoinToken(tokenId);
      if (!token || token.used_at !== null || Date.parse(token.expires_at) <= now()) throw tokenFault(token);
    },

    terms: () => ({store_url: storeUrl ?? null}),

    async admit({tokenId, remoteAddress}, request) {
      requireSameStore(request.store, storeUrl === undefined ? 'own' : 'shared');
      const authority = await ownAuthority('make a new token');
      if (!hasBegun)
        throw new Fault(
          'unavailable',
          'the node that lets others in is still starting; nothing was done, try again in a few seconds',
          {
            retryAfterSeconds: 5,
          },
        );
      if (!mayAdmit(nodeNo, await authorities.holders()))
        throw new Fault('unavailable', 'another node lets nodes in now; make a new token');
      await issuedNames.prepare();
      const answer = await configuration.change(async tx => {
        const at = new Date(now()).toISOString();
        if (!(await tx.trust.useJoinToken(tokenId, at))) throw tokenFault(await tx.trust.findJoinToken(tokenId));
        const nodes = await tx.config.listNodes();
        requireFreeId(nodes, request.node_id);
        await requireKnownRecords(tx, request);
        const subject = subjectOf(needs, {node_id: request.node_id, remoteAddress, currentNames: []});
        const holders = await issuedNames.holders(tx.trust, nodes);
        requireFreeName(request.fqdn, ownerOf(request.fqdn, holders, subject));
        const node_no = Math.max(await tx.config.greatestNodeNo(), greatestSeen) + skipCount + 1;
        if (node_no > maxNodeNo)
          throw new Fault('conflict', `this cluster has had its ${maxNodeNo} nodes; no more can be let in`);

        const {node_id, fqdn, cluster_url, api_url} = request;
        await tx.create('node', node_no, {node_id, fqdn, cluster_url, api_url, created_at: tx.at});
        const detail = `number ${node_no}, token ${tokenId}, mfd ${request.version}`;
        await tx.audit({keyId: null, remoteAddress}, 'cluster.join', node_id, detail);
        // Done last, so that invalid certificate requests roll everything back.
        const api_hosts = ownNames(request.api_hosts, holders, subject);
        const certificates = await authority.certify({nodeId: node_id, nodeNo: node_no}, {...request, api_hosts});
        await issuedNames.issued(tx.trust, node_no, api_hosts);
        return {node_no, ...certificates};
      });
      skipCount = 0;
      colocatedNodes.noteAddress(answer.node_no, remoteAddress);
      return answer;
    },

    renew: async (peer, requests) =>
      renew({...needs, authority: await ownAuthority('ask the node that has tls/ca.key')}, peer, requests),

    seen(no) {
      greatestSeen = Math.max(greatestSeen, no);
    },

    begin(haveAllAnswered) {
      skipCount = haveAllAnswered ? 0 : skippedNos;
      hasBegun = true;
    },
  };
};

const renew = async (
  needs: Needs & {authority: Authority},
  peer: RenewingPeer,
  requests: CertificateRequests,
): Promise<Certificates> => {
  const {store, configuration, authority, directory, issuedNames, now} = needs;
  const hasEnded = peer.endMs <= now();
  // The names of an expired certificate may have been issued to another node since.
  const currentNames = hasEnded ? [] : peer.given;
  const subject = subjectOf(needs, {node_id: peer.nodeId, remoteAddress: peer.remoteAddress, currentNames});
  await issuedNames.prepare();
  const holders = await issuedNames.holders(store.trust, directory.list());
  const api_hosts = ownNames(requests.api_hosts, holders, subject);
  const certificates = await authority.certify(peer, {...requests, api_hosts});
  // Stored before the certificates are handed out: otherwise the names could be issued to another node as well.
  await configuration.change(async tx => {
    await issuedNames.issued(tx.trust, peer.nodeNo, api_hosts);
    const ended = hasEnded ? `, its certificate had expired at ${new Date(peer.endMs).toISOString()}` : '';
    const {nodeId, nodeNo: no, remoteAddress} = peer;
    await tx.audit({keyId: null, remoteAddress}, 'cluster.renew', nodeId, `number ${no}${ended}`);
  });
  return certificates;
};

interface Requester {
  node_id: string;
  remoteAddress: string | null;
  /** The names in its current certificate. */
  currentNames: string[];
}

const subjectOf = ({colocatedNodes}: Needs, {node_id, remoteAddress, currentNames}: Requester): CertificateSubject => ({
  node_id,
  currentNames,
  isColocated: node => colocatedNodes.areColocated(node, remoteAddress),
});

const tokenFault = (token: StoredJoinToken | undefined): Fault => {
  if (!token) return new Fault('insufficient_scope', 'this join token is not known here any more; make a new one');
  if (token.used_at !== null)
    return new Fault('conflict', `this join token was used at ${token.used_at}; make a new one for every node`);
  return new Fault('insufficient_scope', `this join token expired at ${token.expires_at}; make a new one`);
};

/** Nodes with a store of their own exchange changes, which nodes of a common store neither send nor understand. */
const requireSameStore = (asked: JoinRequest['store'], ours: JoinRequest['store']): void => {
  if (asked === ours) return;
  throw new Fault(
    'conflict',
    ours === 'shared'
      ? 'all nodes of this cluster share a PostgreSQL; nothing was done: join with mfd 0.7 or newer'
      : 'every node of this cluster has a store of its own; nothing was done: join without store.url',
  );
};

const requireFreeName = (fqdn: string, owner: StoredNode | undefined): void => {
  if (owner)
    throw new Fault(
      'conflict',
      `${fqdn} is the name of node ${owner.node_id}, which is on another machine; give this one a name of its own with --fqdn (or fqdn in mfd.yaml), or remove ${owner.node_id} first if it is gone`,
    );
};

const requireFreeId = (nodes: readonly StoredNode[], nodeId: string): void => {
  if (nodes.some(({node_id}) => node_id === nodeId))
    throw new Fault(
      'conflict',
      `the cluster has a node ${nodeId} already; remove it first (mfctl cluster remove ${nodeId}), or choose another --node-id`,
    );
};

/** The configuration of a node that does not store them would differ from that of the others for good. */
const requireKnownRecords = async ({config}: ConfigTransaction, {version, kinds}: JoinRequest): Promise<void> => {
  const counts = {webhook: (await config.listWebhooks()).length, digest: (await config.listDigests()).length};
  for (const [kind, count] of Object.entries(counts))
    if (count > 0 && !kinds?.includes(kind))
      throw new Fault(
        'conflict',
        `the cluster has ${kind}s, which mfd ${version} does not know; install the version of the other nodes, and join then`,
      );
};

export interface ColocatedNodes {
  /** Records the address from which a node has sent a request. */
  noteAddress(nodeNo: number, remoteAddress: string | null): void;
  /** Whether a request from `remoteAddress` comes from the machine of `node`. */
  areColocated(node: Pick<StoredNode, 'id' | 'cluster_url'>, remoteAddress: string | null): boolean;
}

interface ColocatedNodesNeeds {
  nodeNo: number;
  /** The current addresses of this machine. */
  ownAddresses(): string[];
}

/** Stands for all addresses of this machine. */
const thisMachine = 'this machine';

export const createColocatedNodes = ({nodeNo, ownAddresses}: ColocatedNodesNeeds): ColocatedNodes => {
  const lastAddress = new Map<number, string>();
  const machineOf = (address: string): string =>
    isLoopback(address) || ownAddresses().map(canonicalHost).includes(canonicalHost(address))
      ? thisMachine
      : canonicalHost(address);

  return {
    noteAddress(no, remoteAddress) {
      if (remoteAddress !== null) lastAddress.set(no, remoteAddress);
    },
    areColocated(node, remoteAddress) {
      if (remoteAddress === null) return false;
      // A node with a loopback URL can only be reached from this machine.
      const host = parseHostPort((node.cluster_url ?? '').replace(/^https:\/\//, ''))?.host ?? '';
      const isOnThisMachine = node.id === nodeNo || isLoopback(host);
      const address = lastAddress.get(node.id);
      const machine = isOnThisMachine ? thisMachine : address === undefined ? undefined : machineOf(address);
      return machine === machineOf(remoteAddress);
    },
  };
};

// Letting a node into the cluster, and giving its certificates again when they grow old.

import {Fault} from '../../../shared/fault.ts';
import type {Store} from '../../services/ports.ts';
import type {ConfigStore, NodeIdentity} from '../ports.ts';
import type {StoredNode} from '../records.ts';
import type {Authorities, Authority} from './authority.ts';
import {type CertificateSubject, ownerOf, ownNames} from './certificate-names.ts';
import type {ColocatedNodes} from './colocated-nodes.ts';
import type {IssuedNames} from './issued-names.ts';
import type {CertificateRequests, Certificates, JoinAnswer, JoinRequest} from './join-protocol.ts';
import {mayAdmit} from './join-tokens.ts';
import type {NodeDirectory} from './node-directory.ts';
import type {StoredJoinToken} from './stored-trust.ts';

export interface Joining {
  /** A Fault that says why not where a token is unknown here, used or past its end. */
  requireToken(tokenId: string): Promise<void>;
  /** Lets the bearer of a token in, once. A Fault that says why not otherwise; the token remains good then. */
  admit(bearer: {tokenId: string; remoteAddress: string | null}, request: JoinRequest): Promise<JoinAnswer>;
  /** New certificates for a node of the cluster, which it has proven to be with one for the names `given`, also when that has ended. */
  renew(peer: RenewingPeer, requests: CertificateRequests): Promise<Certificates>;
  /** A certificate of the authority was shown for this node number: it has been given, whatever the records here say. */
  seen(nodeNo: number): void;
  /**
   * Nodes are let in from now on. Unless every node there is has been heard: at a distance of the numbers known here, in case
   * the database is an old one.
   */
  begin(isEverybodyHeard: boolean): void;
}

interface RenewingPeer extends NodeIdentity {
  given: string[];
  /** When the certificate ends, or has ended, in milliseconds since 1970. */
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
  now: () => number;
}

/** Of the two bytes it has in a stamp. */
const maxNodeNo = 0xffff;
/** More than are likely to have joined since the last backup. */
const skippedNos = 16;

export const createJoining = (needs: Needs): Joining => {
  const {store, configuration, authorities, issuedNames, colocatedNodes, nodeNo, now} = needs;
  let hasBegun = false;
  let greatestSeen = 0;
  /** Of the first number that is given after a start without word from everybody. */
  let distance = 0;

  const ownAuthority = async (advice: string): Promise<Authority> => {
    const own = await authorities.own();
    if (!own) throw new Fault('unavailable', `this node has no key of the cluster’s authority; ${advice}`);
    return own;
  };
  return {
    async requireToken(tokenId) {
      const token = await store.trust.findJoinToken(tokenId);
      if (!token || token.used_at !== null || Date.parse(token.expires_at) <= now()) throw whyUseless(token);
    },

    async admit({tokenId, remoteAddress}, request) {
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
        if (!(await tx.trust.useJoinToken(tokenId, at))) throw whyUseless(await tx.trust.findJoinToken(tokenId));
        const nodes = await tx.config.listNodes();
        requireFreeId(nodes, request.node_id);
        const subject = subjectOf(needs, {node_id: request.node_id, remoteAddress, given: []});
        const holders = await issuedNames.holders(tx.trust, nodes);
        requireFreeName(request.fqdn, ownerOf(request.fqdn, holders, subject));
        const node_no = Math.max(await tx.config.greatestNodeNo(), greatestSeen) + distance + 1;
        if (node_no > maxNodeNo)
          throw new Fault('conflict', `this cluster has had its ${maxNodeNo} nodes; no more can be let in`);

        const {node_id, fqdn, cluster_url, api_url} = request;
        await tx.create('node', node_no, {node_id, fqdn, cluster_url, api_url, created_at: tx.at});
        const detail = `number ${node_no}, token ${tokenId}, mfd ${request.version}`;
        await tx.audit({keyId: null, remoteAddress}, 'cluster.join', node_id, detail);
        // Last: what is wrong with the requests rolls all of it back.
        const api_hosts = ownNames(request.api_hosts, holders, subject);
        const certificates = await authority.certify({nodeId: node_id, nodeNo: node_no}, {...request, api_hosts});
        await issuedNames.issued(tx.trust, node_no, api_hosts);
        return {node_no, ...certificates};
      });
      distance = 0;
      colocatedNodes.noteAddress(answer.node_no, remoteAddress);
      return answer;
    },

    renew: async (peer, requests) =>
      renew({...needs, authority: await ownAuthority('ask the node that has tls/ca.key')}, peer, requests),

    seen(no) {
      greatestSeen = Math.max(greatestSeen, no);
    },

    begin(isEverybodyHeard) {
      distance = isEverybodyHeard ? 0 : skippedNos;
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
  // What an ended one was for may have been given to another node since.
  const subject = subjectOf(needs, {node_id: peer.nodeId, remoteAddress: peer.remoteAddress, given: hasEnded ? [] : peer.given});
  await issuedNames.prepare();
  const holders = await issuedNames.holders(store.trust, directory.list());
  const api_hosts = ownNames(requests.api_hosts, holders, subject);
  const certificates = await authority.certify(peer, {...requests, api_hosts});
  // Before they are handed out: what is not noted could be issued to another node as well.
  await configuration.change(async tx => {
    await issuedNames.issued(tx.trust, peer.nodeNo, api_hosts);
    const ended = hasEnded ? `, its certificate had ended at ${new Date(peer.endMs).toISOString()}` : '';
    const {nodeId, nodeNo: no, remoteAddress} = peer;
    await tx.audit({keyId: null, remoteAddress}, 'cluster.renew', nodeId, `number ${no}${ended}`);
  });
  return certificates;
};

interface Asking {
  node_id: string;
  remoteAddress: string | null;
  /** The names in its certificate so far. */
  given: string[];
}

const subjectOf = ({colocatedNodes}: Needs, {node_id, remoteAddress, given}: Asking): CertificateSubject<StoredNode> => ({
  node_id,
  given,
  isBeside: node => colocatedNodes.areTogether(node, remoteAddress),
});

const whyUseless = (token: StoredJoinToken | undefined): Fault => {
  if (!token) return new Fault('insufficient_scope', 'this join token is not known here any more; make a new one');
  if (token.used_at !== null)
    return new Fault('conflict', `this join token was used at ${token.used_at}; make a new one for every node`);
  return new Fault('insufficient_scope', `this join token expired at ${token.expires_at}; make a new one`);
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

// Letting a node into the cluster, and giving its certificates again when they grow old.
import {Fault} from '../../shared/fault.ts';
import {greatestNodeNo} from '../store/config-record.ts';
import {findJoinToken, useJoinToken} from '../store/join-token.ts';
import {listNodes, type StoredNode} from '../store/node.ts';
import type {Authorities, Authority} from './authority.ts';
import type {Configuration} from './configuration.ts';
import type {CertificateRequests, Certificates, JoinAnswer, JoinRequest} from './join-protocol.ts';
import {mayAdmit} from './join-tokens.ts';
import type {NodeDirectory} from './node-directory.ts';
import {ownNames} from './own-names.ts';

export interface Joining {
  /** Lets the bearer of a token in, once. A Fault that says why not otherwise; the token remains good then. */
  admit(bearer: {tokenId: string; remoteAddress: string | null}, request: JoinRequest): Promise<JoinAnswer>;
  /** New certificates for a node of the cluster, which it has proven to be. */
  renew(peer: {nodeId: string; nodeNo: number}, requests: CertificateRequests): Promise<Certificates>;
}

interface Needs {
  configuration: Configuration;
  authorities: Authorities;
  directory: NodeDirectory;
  nodeNo: number;
  now: () => number;
}

/** Of the two bytes it has in a stamp. */
const maxNodeNo = 0xffff;

export const createJoining = ({configuration, authorities, directory, nodeNo, now}: Needs): Joining => {
  const ownAuthority = async (): Promise<Authority> => {
    const own = await authorities.own();
    if (!own) throw new Fault('unavailable', 'this node has no key of the cluster’s authority any more; make a new token');
    return own;
  };

  return {
    async admit({tokenId, remoteAddress}, request) {
      const authority = await ownAuthority();
      if (!mayAdmit(nodeNo, await authorities.holders()))
        throw new Fault('unavailable', 'another node lets nodes in now; make a new token');
      return configuration.change(async draft => {
        const at = new Date(now()).toISOString();
        if (!(await useJoinToken(draft.tx, tokenId, at))) throw await whyUseless(draft.tx, tokenId);
        const nodes = await listNodes(draft.tx);
        requireFreeId(nodes, request.node_id);
        const node_no = (await greatestNodeNo(draft.tx)) + 1;
        if (node_no > maxNodeNo)
          throw new Fault('conflict', `this cluster has had its ${maxNodeNo} nodes; no more can be let in`);

        const {node_id, fqdn, cluster_url, api_url} = request;
        await draft.create('node', node_no, {node_id, fqdn, cluster_url, api_url, created_at: draft.at});
        const detail = `number ${node_no}, token ${tokenId}, mfd ${request.version}`;
        await draft.audit({keyId: null, remoteAddress}, 'cluster.join', node_id, detail);
        // Last: what is wrong with the requests rolls all of it back.
        const certificates = await authority.certify(
          {nodeId: node_id, nodeNo: node_no},
          {...request, api_hosts: ownNames(nodes, request, request.api_hosts)},
        );
        return {node_no, ...certificates};
      });
    },

    async renew(peer, requests) {
      const authority = await ownAuthority();
      const fqdn = directory.findByNo(peer.nodeNo)?.fqdn ?? '';
      const api_hosts = ownNames(directory.list(), {node_id: peer.nodeId, fqdn}, requests.api_hosts);
      return authority.certify(peer, {...requests, api_hosts});
    },
  };
};

const whyUseless = async (tx: Parameters<typeof findJoinToken>[0], tokenId: string): Promise<Fault> => {
  const token = await findJoinToken(tx, tokenId);
  if (!token) return new Fault('insufficient_scope', 'this join token is not known here any more; make a new one');
  if (token.used_at !== null)
    return new Fault('conflict', `this join token was used at ${token.used_at}; make a new one for every node`);
  return new Fault('insufficient_scope', `this join token expired at ${token.expires_at}; make a new one`);
};

const requireFreeId = (nodes: readonly StoredNode[], nodeId: string): void => {
  if (nodes.some(({node_id}) => node_id === nodeId))
    throw new Fault(
      'conflict',
      `the cluster has a node ${nodeId} already; remove it first (mfctl cluster remove ${nodeId}), or choose another --node-id`,
    );
};

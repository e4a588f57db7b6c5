// Certificate authority of the cluster. Its key is only on the node where `mfd init` created it, and on nodes to which the operator
// copied it, so that an attacker on any other node cannot issue certificates.

import type {z} from 'zod';
import {Fault} from '../../../shared/fault.ts';
import type {NodeIdentity} from '../actor.ts';
import type {StoredNode} from '../records.ts';
import {type CertificateRequests, type Certificates, joinMessages} from './join-protocol.ts';
import type {NodeDirectory} from './membership.ts';
import type {PeerStates} from './peer-states.ts';

export interface Authority {
  /** `sha256:` and hex. */
  readonly fingerprint: string;
  issueToken(order: {id: string; endMs: number; address: string}): Promise<string>;
  /** Throws a Fault `validation_failed` for invalid requests. */
  certify(node: NodeIdentity, requests: CertificateRequests): Promise<Certificates>;
}

/** Another node and the client for requests to it. */
export interface AskablePeer {
  nodeNo: number;
  nodeId: string;
  client: {
    ask<S extends z.ZodType>(
      schema: S,
      request: {method: 'GET' | 'POST'; path: string; body?: unknown; deadlineMs: number; isRenewal?: boolean},
    ): Promise<z.output<S>>;
  };
}

export interface Authorities {
  /** The authority of this node, if it has the key. Checked on each call, as the operator may add or remove the key file. */
  own(): Promise<Authority | undefined>;
  /** The nodes known to have the key, which may include this node, in the order in which they joined. */
  holders(): Promise<StoredNode[]>;
  /** The peer with this number; undefined for this node. */
  peer(nodeNo: number): AskablePeer | undefined;
  /**
   * Requests certificates for this node from another node that has the key. Works with an expired certificate too. Throws a Fault
   * `unavailable` when no node issues any, `node_removed` when this node is no longer in the cluster.
   */
  askForCertificates(requests: CertificateRequests): Promise<Certificates>;
}

const answerMs = 10_000;

interface Needs {
  own: Authorities['own'];
  directory: NodeDirectory;
  peerStates: Pick<PeerStates, 'latest'>;
  peers(): readonly AskablePeer[];
  nodeNo: number;
  /** The named node says that this one has been removed from the cluster. */
  onRemoved(by: string): void;
}

export const createAuthorities = ({own, directory, peerStates, peers, nodeNo, onRemoved}: Needs): Authorities => {
  const peer = (no: number) => peers().find(one => one.nodeNo === no);
  const hasKey = (id: number) => peerStates.latest(id)?.has_authority ?? false;
  return {
    own,
    peer,
    async holders() {
      const isOwn = (await own()) !== undefined;
      return directory.list().filter(({id}) => (id === nodeNo ? isOwn : hasKey(id)));
    },

    async askForCertificates(body) {
      const others = directory.list().filter(({id}) => id !== nodeNo);
      const holders = others.filter(({id}) => hasKey(id));
      let cause: unknown;
      // The key may have been moved while this node was disconnected, so the remaining nodes are asked as well.
      for (const {id, node_id} of [...holders, ...others.filter(node => !holders.includes(node))])
        try {
          const {at, answer} = joinMessages.certificates;
          const certificates = await peer(id)?.client.ask(answer, {...at, body, deadlineMs: answerMs, isRenewal: true});
          if (certificates) return certificates;
        } catch (error) {
          if (error instanceof Fault && error.code === 'node_removed') {
            onRemoved(node_id);
            throw error;
          }
          cause ??= error;
        }
      const which = holders.map(({node_id}) => node_id).join(', ') || 'the node that has tls/ca.key';
      throw new Fault('unavailable', `certificates cannot be renewed: ${which} does not answer or gives none`, {cause});
    },
  };
};

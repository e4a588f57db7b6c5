// Who can issue certificates. The key of the cluster's authority lies where `mfd init` made it, or where the operator copied
// it, and nowhere else: a node that is taken over must not be able to make more of its kind.

import type {z} from 'zod';
import {Fault} from '../../../shared/fault.ts';
import type {NodeIdentity} from '../ports.ts';
import type {StoredNode} from '../records.ts';
import {type CertificateRequests, type Certificates, certificatesSchema} from './join-protocol.ts';
import type {NodeDirectory} from './node-directory.ts';
import type {PeerStates} from './peer-states.ts';

export interface Authority {
  /** `sha256:` and hex. */
  readonly fingerprint: string;
  issueToken(order: {id: string; endMs: number; address: string}): Promise<string>;
  /** A Fault `validation_failed` for requests that are none. */
  certify(node: NodeIdentity, requests: CertificateRequests): Promise<Certificates>;
}

/** Another node, as far as it can be asked something. */
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
  /** This node's, if it has the key; looked for anew each time, as the operator may bring it or take it away. */
  own(): Promise<Authority | undefined>;
  /** The nodes that have the key as far as is known here, in the order in which they joined; this node may be one. */
  holders(): Promise<StoredNode[]>;
  /** The way to ask a node; undefined for this node. */
  peer(nodeNo: number): AskablePeer | undefined;
  /**
   * Has another node that has the key give this node certificates, also when those of this node have ended. A Fault `unavailable` when
   * none can be had now, `node_removed` when this node is none of the cluster any more.
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
      // The key may have been moved while this node heard nothing: then it is with one of the rest.
      for (const {id, node_id} of [...holders, ...others.filter(node => !holders.includes(node))])
        try {
          const request = {method: 'POST', path: 'certificates', body, deadlineMs: answerMs, isRenewal: true} as const;
          const certificates = await peer(id)?.client.ask(certificatesSchema, request);
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

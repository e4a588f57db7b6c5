// Who can issue certificates. The key of the cluster's authority lies where `mfd init` made it, or where the operator copied
// it, and nowhere else: a node that is taken over must not be able to make more of its kind.
import type {z} from 'zod';
import {Fault} from '../../shared/fault.ts';
import type {StoredNode} from '../store/node.ts';
import {type CertificateRequests, type Certificates, certificatesSchema} from './join-protocol.ts';
import type {NodeDirectory} from './node-directory.ts';
import type {PeerStates} from './peer-states.ts';
import type {NodeIdentity} from './ports.ts';

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
      request: {method: 'GET' | 'POST'; path: string; body?: unknown; deadlineMs: number},
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
  /** Has another node that has the key give this node certificates; a Fault `unavailable` when none can be had now. */
  askForCertificates(requests: CertificateRequests): Promise<Certificates>;
}

const answerMs = 10_000;

interface Needs {
  own: Authorities['own'];
  directory: NodeDirectory;
  peerStates: Pick<PeerStates, 'latest'>;
  peers(): readonly AskablePeer[];
  nodeNo: number;
}

export const createAuthorities = ({own, directory, peerStates, peers, nodeNo}: Needs): Authorities => {
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
      let cause: unknown;
      const holders = directory.list().filter(({id}) => id !== nodeNo && hasKey(id));
      for (const {id} of holders)
        try {
          const certificates = await peer(id)?.client.ask(certificatesSchema, {
            method: 'POST',
            path: 'certificates',
            body,
            deadlineMs: answerMs,
          });
          if (certificates) return certificates;
        } catch (error) {
          cause = error;
        }
      const which = holders.map(({node_id}) => node_id).join(', ') || 'the node that has tls/ca.key';
      throw new Fault('unavailable', `certificates cannot be renewed: ${which} does not answer or gives none`, {cause});
    },
  };
};

// Who can issue certificates. The key of the cluster's authority lies where `mfd init` made it, or where the operator copied
// it, and nowhere else: a node that is taken over must not be able to make more of its kind.
import type {z} from 'zod';
import type {StoredNode} from '../store/node.ts';
import type {CertificateRequests, Certificates} from './join-protocol.ts';
import type {NodeDirectory} from './node-directory.ts';
import type {PeerStates} from './peer-states.ts';

export interface Authority {
  /** PEM. */
  readonly certificate: string;
  /** `sha256:` and hex. */
  readonly fingerprint: string;
  issueToken(order: {id: string; endMs: number; address: string}): Promise<string>;
  /** A Fault `validation_failed` for requests that are none. */
  certify(node: {nodeId: string; nodeNo: number}, requests: CertificateRequests): Promise<Certificates>;
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
}

interface Needs {
  own: Authorities['own'];
  directory: NodeDirectory;
  peerStates: Pick<PeerStates, 'latest'>;
  peers(): readonly AskablePeer[];
  nodeNo: number;
}

export const createAuthorities = ({own, directory, peerStates, peers, nodeNo}: Needs): Authorities => ({
  own,
  async holders() {
    const isOwn = (await own()) !== undefined;
    return directory.list().filter(({id}) => (id === nodeNo ? isOwn : peerStates.latest(id)?.has_authority));
  },
  peer: no => peers().find(peer => peer.nodeNo === no),
});

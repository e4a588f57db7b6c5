// Other nodes of the cluster, each with the one client for all requests to it.

import {parseHostPort} from '../../shared/host-port.ts';
import type {NodeIdentity} from '../services/actor.ts';
import type {NodeDirectory} from '../services/cluster/membership.ts';
import {messages, type ReachAnswer} from '../services/cluster/peer-protocol.ts';
import type {StoredNode} from '../services/records.ts';
import {createPeerClient, type PeerClient, type PeerCredentials} from './peer-client.ts';
import {tryToReach} from './reachability.ts';

export interface Peer {
  readonly nodeNo: number;
  readonly nodeId: string;
  /** ISO 8601, by the clock of the node that admitted it. */
  readonly joinedAt: string;
  readonly client: PeerClient;
}

export type Peers = ReturnType<typeof startPeers>;

interface Needs {
  nodeNo: number;
  directory: NodeDirectory;
  credentials: PeerCredentials;
  /** `cluster.routes` of the configuration: addresses that replace the published addresses of nodes. */
  routes: readonly string[];
}

const removalNoticeMs = 2000;

export const startPeers = ({nodeNo, directory, credentials, routes}: Needs) => {
  const routeTo = new Map(routes.map(route => [route.slice(0, route.indexOf('=')), route.slice(route.indexOf('=') + 1)]));
  const followers: ((peer: Peer) => () => void)[] = [];
  const known = new Map<number, Peer & {onGone: (() => void)[]}>();
  let current = credentials;

  const addressFor = (nodeId: string, clusterUrl: string | null) => addressOf(routeTo.get(nodeId) ?? clusterUrl);
  const add = ({id, node_id, cluster_url, created_at}: StoredNode) => {
    let lastUrl = cluster_url;
    const client = createPeerClient({
      peer: {nodeId: node_id, nodeNo: id},
      address() {
        lastUrl = directory.findByNo(id)?.cluster_url ?? lastUrl;
        return addressFor(node_id, lastUrl);
      },
      credentials: current,
    });
    const peer = {nodeNo: id, nodeId: node_id, joinedAt: created_at, client};
    known.set(id, {...peer, onGone: followers.map(onPeer => onPeer(peer))});
  };
  const forget = (id: number): Peer | undefined => {
    const peer = known.get(id);
    known.delete(id);
    for (const end of peer?.onGone ?? []) end();
    return peer;
  };
  const notified = new Set<PeerClient>();
  /** Notifies a removed node, which otherwise would go on accepting revoked keys. A node that is down learns it from its next request. */
  const notifyRemoved = async ({nodeNo: node_no, client}: Peer): Promise<void> => {
    notified.add(client);
    await client
      .ask(messages.removed.answer, {...messages.removed.at, body: {node_no}, deadlineMs: removalNoticeMs})
      .catch(() => {});
    notified.delete(client);
    client.close();
  };
  const update = () => {
    const others = directory.list().filter(({id}) => id !== nodeNo);
    for (const id of [...known.keys()]) {
      const peer = others.some(node => node.id === id) ? undefined : forget(id);
      if (peer) void notifyRemoved(peer);
    }
    for (const node of others) if (!known.has(node.id)) add(node);
  };
  let isClosed = false;
  update();
  directory.onChange(() => {
    if (!isClosed) update();
  });

  return {
    /** The current peers. */
    list: (): readonly Peer[] => [...known.values()],
    /** Calls `onPeer` with all current and future peers, and the function that it returns when the peer has left, or at `close`. */
    follow(onPeer: (peer: Peer) => () => void): void {
      followers.push(onPeer);
      for (const peer of known.values()) peer.onGone.push(onPeer(peer));
    },
    /** A client for a node at an address from another peer. The caller closes it. */
    clientAt: (node: NodeIdentity, clusterUrl: string): PeerClient =>
      createPeerClient({peer: node, address: () => addressFor(node.nodeId, clusterUrl), credentials: current}),
    /** Tries to connect to the node at its published address, over a separate connection. */
    async reach(no: number): Promise<ReachAnswer> {
      const node = directory.findByNo(no);
      return tryToReach(node && addressFor(node.node_id, node.cluster_url));
    },
    setCertificate(pair: PeerCredentials): void {
      current = pair;
      for (const {client} of known.values()) client.setCertificate(pair);
    },
    close(): void {
      isClosed = true;
      for (const id of [...known.keys()]) forget(id)?.client.close();
      for (const client of notified) client.close();
    },
  };
};

const addressOf = (text: string | null | undefined) => parseHostPort((text ?? '').replace(/^https:\/\//, ''));

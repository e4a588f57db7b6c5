// The other nodes of the cluster, each with the one client that everything said to it goes through.

import {z} from 'zod';
import {parseHostPort} from '../../shared/host-port.ts';
import type {NodeDirectory} from '../services/cluster/node-directory.ts';
import type {NodeIdentity} from '../services/ports.ts';
import type {StoredNode} from '../services/records.ts';
import {createPeerClient, type PeerClient, type PeerCredentials} from './peer-client.ts';
import {type ReachAnswer, tryToReach} from './reachability.ts';

export interface Peer {
  readonly nodeNo: number;
  readonly nodeId: string;
  /** ISO 8601, by the clock of the node that let it in. */
  readonly joinedAt: string;
  readonly client: PeerClient;
}

export interface Peers {
  /** Follows the nodes that join and leave. */
  list(): readonly Peer[];
  /** Told of every peer there is and will be; what it returns is called when the peer has left, or at `close`. */
  follow(welcome: (peer: Peer) => () => void): void;
  /** A client for a node at an address that somebody else has named; to be closed by the caller. */
  clientAt(node: NodeIdentity, clusterUrl: string): PeerClient;
  /** Tries whether the node can be reached where it says it is, on a connection of its own. */
  reach(nodeNo: number): Promise<ReachAnswer>;
  setCertificate(pair: PeerCredentials): void;
  close(): void;
}

interface Needs {
  nodeNo: number;
  directory: NodeDirectory;
  credentials: PeerCredentials;
  /** `cluster.routes` of the configuration: where nodes are to be reached from here, if not where they say. */
  routes: readonly string[];
}

const dismissalMs = 2000;

export const startPeers = ({nodeNo, directory, credentials, routes}: Needs): Peers => {
  const routeTo = new Map(routes.map(route => [route.slice(0, route.indexOf('=')), route.slice(route.indexOf('=') + 1)]));
  const welcomes: ((peer: Peer) => () => void)[] = [];
  const known = new Map<number, Peer & {farewells: (() => void)[]}>();
  let shown = credentials;

  const addressFor = (nodeId: string, clusterUrl: string | null) => addressOf(routeTo.get(nodeId) ?? clusterUrl);
  const add = ({id, node_id, cluster_url, created_at}: StoredNode) => {
    let lastUrl = cluster_url;
    const client = createPeerClient({
      peer: {nodeId: node_id, nodeNo: id},
      address() {
        lastUrl = directory.findByNo(id)?.cluster_url ?? lastUrl;
        return addressFor(node_id, lastUrl);
      },
      credentials: shown,
    });
    const peer = {nodeNo: id, nodeId: node_id, joinedAt: created_at, client};
    known.set(id, {...peer, farewells: welcomes.map(welcome => welcome(peer))});
  };
  const forget = (id: number): Peer | undefined => {
    const peer = known.get(id);
    known.delete(id);
    for (const farewell of peer?.farewells ?? []) farewell();
    return peer;
  };
  const dismissed = new Set<PeerClient>();
  /** Who is not told goes on as before, with keys that are revoked in the meantime. If it is away, it hears when it asks. */
  const dismiss = async ({nodeNo: node_no, client}: Peer): Promise<void> => {
    dismissed.add(client);
    await client.ask(z.null(), {method: 'POST', path: 'removed', body: {node_no}, deadlineMs: dismissalMs}).catch(() => {});
    dismissed.delete(client);
    client.close();
  };
  const update = () => {
    const others = directory.list().filter(({id}) => id !== nodeNo);
    for (const id of [...known.keys()]) {
      const peer = others.some(node => node.id === id) ? undefined : forget(id);
      if (peer) void dismiss(peer);
    }
    for (const node of others) if (!known.has(node.id)) add(node);
  };
  let isClosed = false;
  update();
  directory.onChange(() => {
    if (!isClosed) update();
  });

  return {
    list: () => [...known.values()],
    follow(welcome) {
      welcomes.push(welcome);
      for (const peer of known.values()) peer.farewells.push(welcome(peer));
    },
    clientAt: (node, clusterUrl) =>
      createPeerClient({peer: node, address: () => addressFor(node.nodeId, clusterUrl), credentials: shown}),
    async reach(no) {
      const node = directory.findByNo(no);
      return tryToReach(node && addressFor(node.node_id, node.cluster_url));
    },
    setCertificate(pair) {
      shown = pair;
      for (const {client} of known.values()) client.setCertificate(pair);
    },
    close() {
      isClosed = true;
      for (const id of [...known.keys()]) forget(id)?.client.close();
      for (const client of dismissed) client.close();
    },
  };
};

const addressOf = (text: string | null | undefined) => parseHostPort((text ?? '').replace(/^https:\/\//, ''));

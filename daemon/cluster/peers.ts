// The other nodes of the cluster, each with the one client that everything said to it goes through.
import {parseHostPort} from '../../shared/host-port.ts';
import type {NodeDirectory} from '../services/node-directory.ts';
import type {StoredNode} from '../store/node.ts';
import {createPeerClient, type PeerClient, type PeerCredentials} from './peer-client.ts';

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

export const startPeers = ({nodeNo, directory, credentials, routes}: Needs): Peers => {
  const routeTo = new Map(routes.map(route => [route.slice(0, route.indexOf('=')), route.slice(route.indexOf('=') + 1)]));
  const welcomes: ((peer: Peer) => () => void)[] = [];
  const known = new Map<number, Peer & {farewells: (() => void)[]}>();
  let shown = credentials;

  const add = ({id, node_id, created_at}: StoredNode) => {
    const client = createPeerClient({
      peer: {nodeId: node_id, nodeNo: id},
      address: () => addressOf(routeTo.get(node_id) ?? directory.findByNo(id)?.cluster_url),
      credentials: shown,
    });
    const peer = {nodeNo: id, nodeId: node_id, joinedAt: created_at, client};
    known.set(id, {...peer, farewells: welcomes.map(welcome => welcome(peer))});
  };
  const remove = (id: number) => {
    const peer = known.get(id);
    known.delete(id);
    for (const farewell of peer?.farewells ?? []) farewell();
    peer?.client.close();
  };
  const update = () => {
    const others = directory.list().filter(({id}) => id !== nodeNo);
    for (const id of [...known.keys()]) if (!others.some(node => node.id === id)) remove(id);
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
    setCertificate(pair) {
      shown = pair;
      for (const {client} of known.values()) client.setCertificate(pair);
    },
    close() {
      isClosed = true;
      for (const id of [...known.keys()]) remove(id);
    },
  };
};

const addressOf = (text: string | null | undefined) => parseHostPort((text ?? '').replace(/^https:\/\//, ''));

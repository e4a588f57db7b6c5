// Search for peers that do not answer, at addresses that other peers know. A peer that moved while this node was down announces its new
// address to the address that it knows of this node, which may be outdated too. A third node may know the new address. This node
// tries it, and accepts it once the peer itself answers there.

import {z} from 'zod';
import {changeSchema, heartbeatSchema} from '../services/cluster/peer-protocol.ts';
import type {HeartbeatExchange} from '../services/cluster/replication-ports.ts';
import type {Peer, Peers} from './peers.ts';

interface Needs {
  exchange: HeartbeatExchange;
  peers: Pick<Peers, 'clientAt'>;
  /** All peers, each with the number of heartbeats in a row that it has not answered. */
  states(): {peer: Peer; misses: number}[];
}

const pollMs = 5000;
const lostAfterMisses = 3;
const answerMs = 3000;

/** Repeatedly asks a peer that answers for the addresses of the peers that do not. */
export const findLostPeers = ({exchange, peers, states}: Needs): {stop(): void} => {
  /** The answer to a heartbeat names the node and its address, over its own certificate. */
  const tryAt = async ({nodeNo, nodeId}: Peer, clusterUrl: string): Promise<void> => {
    const client = peers.clientAt({nodeNo, nodeId}, clusterUrl);
    try {
      const {heartbeat} = await exchange.heartbeat(nodeNo, Number.POSITIVE_INFINITY);
      const request = {method: 'POST', path: 'heartbeat', body: heartbeat, deadlineMs: answerMs} as const;
      await exchange.receiveHeartbeat({nodeNo, nodeId}, await client.ask(heartbeatSchema, request));
    } finally {
      client.close();
    }
  };

  const search = async (): Promise<void> => {
    const lost = states().filter(({misses}) => misses >= lostAfterMisses);
    const found = states().filter(({misses}) => misses === 0);
    const asked = found[Math.floor(Math.random() * found.length)];
    if (lost.length === 0 || !asked) return;
    const keys = lost.map(({peer}) => ({kind: 'node', id: peer.nodeNo}));
    const wanted = {method: 'POST', path: 'records', body: {keys}, deadlineMs: answerMs} as const;
    const records = await asked.peer.client.ask(z.array(changeSchema), wanted);
    for (const {peer} of lost) {
      const url = records.find(({kind, id}) => kind === 'node' && id === peer.nodeNo)?.fields.cluster_url?.[0];
      // After a failure the next poll tries again, perhaps with the answer of another peer.
      if (typeof url === 'string') await tryAt(peer, url).catch(() => {});
    }
  };
  const timer = setInterval(() => void search().catch(() => {}), pollMs).unref();
  return {stop: () => clearInterval(timer)};
};

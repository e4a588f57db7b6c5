// Nodes that have moved while this one was away say so to an address of this one that may be an old one too. A third node that both
// can reach knows where they are. What it says is tried, and believed once the node itself answers there.

import {z} from 'zod';
import {changeSchema, heartbeatSchema} from '../services/cluster/peer-protocol.ts';
import type {HeartbeatExchange} from '../services/cluster/replication-ports.ts';
import type {Peer, Peers} from './peers.ts';

interface Needs {
  exchange: HeartbeatExchange;
  peers: Pick<Peers, 'clientAt'>;
  /** Every peer, with how many heartbeats in a row it has left unanswered. */
  states(): {peer: Peer; misses: number}[];
}

const pollMs = 5000;
const lostAfterMisses = 3;
const answerMs = 3000;

/** Asks one peer that answers where those are that do not, again and again. */
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

  const findThem = async (): Promise<void> => {
    const lost = states().filter(({misses}) => misses >= lostAfterMisses);
    const found = states().filter(({misses}) => misses === 0);
    const asked = found[Math.floor(Math.random() * found.length)];
    if (lost.length === 0 || !asked) return;
    const keys = lost.map(({peer}) => ({kind: 'node', id: peer.nodeNo}));
    const wanted = {method: 'POST', path: 'records', body: {keys}, deadlineMs: answerMs} as const;
    const records = await asked.peer.client.ask(z.array(changeSchema), wanted);
    for (const {peer} of lost) {
      const url = records.find(({kind, id}) => kind === 'node' && id === peer.nodeNo)?.fields.cluster_url?.[0];
      // Where it is not, it is looked for again, or somebody else is asked.
      if (typeof url === 'string') await tryAt(peer, url).catch(() => {});
    }
  };
  const timer = setInterval(() => void findThem().catch(() => {}), pollMs).unref();
  return {stop: () => clearInterval(timer)};
};

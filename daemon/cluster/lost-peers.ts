// Nodes that have moved while this one was away say so to an address of this one that may be an old one too. A third that both
// can reach knows where they are.
import {z} from 'zod';
import {changeSchema} from '../services/peer-protocol.ts';
import type {Replication} from '../services/replication.ts';
import type {Peer} from './peers.ts';

interface Needs {
  replication: Replication;
  /** Every peer, with how many heartbeats in a row it has left unanswered. */
  peers(): {peer: Peer; misses: number}[];
}

const lookMs = 5000;
const lostAfterMisses = 3;
const answerMs = 3000;

/** Asks one peer that answers for the records of those that do not, again and again. */
export const lookForLostPeers = ({replication, peers}: Needs): {stop(): void} => {
  const look = async (): Promise<void> => {
    const lost = peers().filter(({misses}) => misses >= lostAfterMisses);
    const found = peers().filter(({misses}) => misses === 0);
    const asked = found[Math.floor(Math.random() * found.length)];
    if (lost.length === 0 || !asked) return;
    const keys = lost.map(({peer}) => ({kind: 'node', id: peer.nodeNo}));
    const wanted = {method: 'POST', path: 'records', body: {keys}, deadlineMs: answerMs} as const;
    await replication.merge(await asked.peer.client.ask(z.array(changeSchema), wanted));
  };
  // Whoever does not answer now is asked again, or another one is.
  const timer = setInterval(() => void look().catch(() => {}), lookMs).unref();
  return {stop: () => clearInterval(timer)};
};

// Background work with each peer: heartbeats, and what else `startWork` starts.

import {setTimeout as delay} from 'node:timers/promises';
import type {Logger} from 'pino';
import type {RateLimiter} from '../services/access/rate-limit.ts';
import {messages} from '../services/cluster/peer-protocol.ts';
import type {PeerStates} from '../services/cluster/peer-states.ts';
import type {HeartbeatExchange} from '../services/cluster/replication-ports.ts';
import {createFailureLog, startHeartbeats} from './heartbeats.ts';
import type {Peer, Peers} from './peers.ts';

/** Work with one peer besides the heartbeats. */
export interface PeerWork {
  /** The peer reports the last event of this node that it has applied. */
  reportedApplied(seq: number): void;
  stop(): void;
}

interface Needs {
  nodeNo: number;
  peers: Peers;
  exchange: HeartbeatExchange;
  peerStates: Pick<PeerStates, 'answered' | 'unanswered' | 'heardAtMs' | 'onHeardAgain'>;
  limiter: Pick<RateLimiter, 'answered' | 'unanswered'>;
  intervalMs: number;
  news(): string;
  /** A peer says that this node has been removed from the cluster. */
  onRemoved(by: string): void;
  /** Called for each peer; failures go into the one log of this peer. */
  startWork?(peer: Peer, onFailure: (error: unknown) => void): PeerWork;
  log: Logger;
}

/** How long `greet` keeps asking peers that do not answer at first. */
const greetRetryMs = 1000;

export const startPeerLinks = (needs: Needs) => {
  const {peers} = needs;
  const links = new Map<number, ReturnType<typeof startLink>>();
  const all = () => [...links.values()];

  peers.follow(peer => {
    const link = startLink(needs, peer);
    links.set(peer.nodeNo, link);
    return () => {
      links.delete(peer.nodeNo);
      link.stop();
      needs.limiter.unanswered(peer.nodeNo);
    };
  });
  needs.peerStates.onHeardAgain(no => void links.get(no)?.heartbeats.beat());
  const sendHeartbeats = async (): Promise<boolean[]> => Promise.all(all().map(async ({heartbeats}) => heartbeats.beat()));

  return {
    /** All peers, each with the number of heartbeats in a row that it has not answered. */
    states: () => all().map(({peer, heartbeats}) => ({peer, misses: heartbeats.misses})),
    /** Sends a heartbeat to each peer, unless one is under way; resolves once all have been answered or have failed. */
    async sendHeartbeats(): Promise<void> {
      await sendHeartbeats();
    },
    /**
     * Sends a heartbeat to each peer, and waits for what `andThen` waits for. Resolves with whether all peers have answered, and
     * `andThen` has resolved with true, before the deadline.
     */
    async greet(deadlineMs: number, andThen = async () => true): Promise<boolean> {
      const beganAt = performance.now();
      const greetAll = async (): Promise<boolean> => {
        const answered = await sendHeartbeats();
        const isDone = await andThen();
        if (answered.every(Boolean) && isDone) return true;
        if (performance.now() - beganAt > greetRetryMs) return false;
        // Nodes that are started together refuse each other's connections at first.
        await delay(100, undefined, {ref: false});
        return greetAll();
      };
      return Promise.race([greetAll(), delay(deadlineMs, false, {ref: false})]);
    },
    /** Notifies every peer that this node stops. */
    async sayGoodbye(deadlineMs: number): Promise<void> {
      const {at, answer} = messages.stopping;
      // A peer that does not receive this notices later that the node is gone.
      await Promise.all(all().map(async ({peer}) => peer.client.ask(answer, {...at, deadlineMs}).catch(() => {})));
    },
    stop(): void {
      for (const link of all()) link.stop();
    },
  };
};

/** Starts the work with one peer; all of it reports to one failure log. */
const startLink = (needs: Needs, peer: Peer) => {
  const {nodeNo, exchange, peerStates, limiter, intervalMs, news, onRemoved, log} = needs;
  const failures = createFailureLog({nodeId: peer.nodeId, onRemoved, log});
  const work = needs.startWork?.(peer, failures.failed);
  const heartbeats = startHeartbeats({
    peer,
    exchange,
    intervalMs,
    news,
    nodeNo,
    heardAtMs: () => peerStates.heardAtMs(peer.nodeNo),
    onAnswer(appliedOfUs, reply, askedAtMs) {
      failures.worked();
      peerStates.answered(peer.nodeNo, askedAtMs);
      limiter.answered(peer.nodeNo, reply.key_counts);
      work?.reportedApplied(appliedOfUs);
    },
    onFailure(error) {
      peerStates.unanswered(peer.nodeNo);
      limiter.unanswered(peer.nodeNo);
      failures.failed(error);
    },
  });
  void heartbeats.beat();
  return {
    peer,
    heartbeats,
    stop() {
      work?.stop();
      heartbeats.stop();
    },
  };
};

// Background work with each peer: heartbeats, sending changes, catching up.

import {setTimeout as delay} from 'node:timers/promises';
import type {Logger} from 'pino';
import {z} from 'zod';
import type {RateLimiter} from '../services/access/rate-limit.ts';
import type {PeerStates} from '../services/cluster/peer-states.ts';
import type {Refusals} from '../services/cluster/refusals.ts';
import type {HeartbeatExchange, Replication} from '../services/cluster/replication-ports.ts';
import {createCatchUpRunner} from './catch-up.ts';
import {createFailureLog, findLostPeers, startHeartbeats} from './heartbeats.ts';
import {startOutboxSender} from './outbox-sender.ts';
import type {Peer, Peers} from './peers.ts';

interface Needs {
  nodeNo: number;
  peers: Peers;
  exchange: HeartbeatExchange;
  replication: Replication;
  refusals: Pick<Refusals, 'byPeer'>;
  peerStates: Pick<PeerStates, 'answered' | 'unanswered' | 'heardAtMs'>;
  limiter: Pick<RateLimiter, 'answered' | 'unanswered'>;
  intervalMs: number;
  news(): string;
  /** A peer says that this node has been removed from the cluster. */
  onRemoved(by: string): void;
  log: Logger;
}

/** How long `greet` keeps asking peers that do not answer at first. */
const greetRetryMs = 1000;

export const startPeerLinks = (needs: Needs) => {
  const {nodeNo, peers, exchange, replication, log} = needs;
  const links = new Map<number, ReturnType<typeof startLink>>();
  const all = () => [...links.values()];
  const startedAt = new Date().toISOString();
  const wake = () => {
    for (const {sender} of all()) sender.wake();
  };
  const catchUps = createCatchUpRunner({nodeNo, replication, onDone: wake, log});
  exchange.onBehind(from => {
    const link = links.get(from);
    if (link) catchUps.start(link.peer);
  });

  peers.follow(peer => {
    // A peer that has joined since knows events of this node from other nodes.
    const onGoneBack = peer.joinedAt > startedAt ? undefined : () => catchUps.start(peer);
    const link = startLink(needs, peer, onGoneBack);
    links.set(peer.nodeNo, link);
    return () => {
      links.delete(peer.nodeNo);
      link.stop();
      needs.limiter.unanswered(peer.nodeNo);
    };
  });

  const lost = findLostPeers({
    exchange,
    peers,
    states: () => all().map(({peer, heartbeats}) => ({peer, misses: heartbeats.misses})),
  });
  const sendHeartbeats = async (): Promise<boolean[]> => Promise.all(all().map(async ({heartbeats}) => heartbeats.beat()));

  return {
    /** There is a new event in the outbox. */
    wake,
    /** Sends a heartbeat to each peer, unless one is under way; resolves once all have been answered or have failed. */
    async sendHeartbeats(): Promise<void> {
      await sendHeartbeats();
    },
    /** Waits until all peers have applied event `seq`; resolves with the ids of those that could not be reached, or were too late. */
    async settled(seq: number, deadlineMs: number): Promise<string[]> {
      const outcomes = await Promise.all(
        all().map(async ({peer, sender}) => ((await sender.reached(seq, deadlineMs)) ? [] : [peer.nodeId])),
      );
      return outcomes.flat().sort();
    },
    /** The last event of this node that all peers have applied; undefined until each peer has reported its position. */
    leastAcknowledged(): number | undefined {
      const acknowledged = all().map(({sender}) => sender.acknowledged);
      return acknowledged.every(seq => seq !== undefined)
        ? Math.min(Number.MAX_SAFE_INTEGER, ...(acknowledged as number[]))
        : undefined;
    },
    /**
     * Sends a heartbeat to each peer, and catches up where that turns out to be needed. Resolves with whether all peers have
     * answered, and all catching up has succeeded, before the deadline.
     */
    async greet(deadlineMs: number): Promise<boolean> {
      const beganAt = performance.now();
      const greetAll = async (): Promise<boolean> => {
        const answered = await sendHeartbeats();
        const hasCaughtUp = await catchUps.done();
        if (answered.every(Boolean) && hasCaughtUp) return true;
        if (performance.now() - beganAt > greetRetryMs) return false;
        // Nodes that are started together refuse each other's connections at first.
        await delay(100, undefined, {ref: false});
        return greetAll();
      };
      return Promise.race([greetAll(), delay(deadlineMs, false, {ref: false})]);
    },
    /** Notifies every peer that this node stops. */
    async sayGoodbye(deadlineMs: number): Promise<void> {
      const request = {method: 'POST', path: 'stopping', deadlineMs} as const;
      // A peer that does not receive this notices later that the node is gone.
      await Promise.all(all().map(async ({peer}) => peer.client.ask(z.null(), request).catch(() => {})));
    },
    /** Starts nothing new, and waits for the work under way, which ends soon only once the peers are closed. */
    async stop(): Promise<void> {
      catchUps.stop();
      lost.stop();
      for (const link of all()) link.stop();
      await catchUps.done();
    },
  };
};

/** Starts the sender and the heartbeats of one peer; both report to one failure log. */
const startLink = (needs: Needs, peer: Peer, onGoneBack: (() => void) | undefined) => {
  const {nodeNo, exchange, replication, refusals, peerStates, limiter, intervalMs, news, onRemoved, log} = needs;
  const failures = createFailureLog({nodeId: peer.nodeId, onRemoved, log});
  const sender = startOutboxSender({
    client: peer.client,
    replication,
    onGoneBack,
    onFailure: failures.failed,
    onAnswer: why => refusals.byPeer(peer.nodeNo, 'events', why),
  });
  const heartbeats = startHeartbeats({
    peer,
    exchange,
    intervalMs,
    news,
    nodeNo,
    heardAtMs: () => peerStates.heardAtMs(peer.nodeNo),
    onAnswer(appliedOfUs, reply) {
      failures.worked();
      peerStates.answered(peer.nodeNo);
      limiter.answered(peer.nodeNo, reply.key_counts);
      sender.reportedApplied(appliedOfUs);
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
    sender,
    heartbeats,
    stop() {
      sender.stop();
      heartbeats.stop();
    },
  };
};

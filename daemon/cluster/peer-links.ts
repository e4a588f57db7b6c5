// Everything this node does with each of its peers by itself: heartbeats, telling changes, catching up.

import {setTimeout as delay} from 'node:timers/promises';
import type {Logger} from 'pino';
import {z} from 'zod';
import type {RateLimiter} from '../services/access/rate-limit.ts';
import type {PeerStates} from '../services/cluster/peer-states.ts';
import type {Refusals} from '../services/cluster/refusals.ts';
import type {HeartbeatExchange, Replication} from '../services/cluster/replication-ports.ts';
import {createCatchUps} from './catch-ups.ts';
import {createFailureLog} from './failure-log.ts';
import {type Heartbeats, startHeartbeats} from './heartbeats.ts';
import {findLostPeers} from './lost-peers.ts';
import {type OutboxSender, startOutboxSender} from './outbox-sender.ts';
import type {Peer, Peers} from './peers.ts';

export interface PeerLinks {
  /** There is a new event in the outbox. */
  wake(): void;
  /** One heartbeat to everybody, or the one under way; resolves once each has been answered, or has failed. */
  sendHeartbeats(): Promise<void>;
  /** Waits until the peers have applied event `seq`; resolves with the ids of those that could not be reached or did not in time. */
  settled(seq: number, deadlineMs: number): Promise<string[]>;
  /** The least that any peer has applied of this node's events; undefined while one has not said yet. */
  leastAcknowledged(): number | undefined;
  /** One heartbeat to everybody, and what follows from it; resolves with whether all have answered before the deadline. */
  greet(deadlineMs: number): Promise<boolean>;
  /** Tells every peer that this node stops. */
  sayGoodbye(deadlineMs: number): Promise<void>;
  /** Begins nothing more, and waits for what is under way; that ends soon only once the peers are closed. */
  stop(): Promise<void>;
}

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

interface Link {
  peer: Peer;
  sender: OutboxSender;
  heartbeats: Heartbeats;
}

const patienceMs = 1000;

export const startPeerLinks = (needs: Needs): PeerLinks => {
  const {nodeNo, peers, exchange, replication, refusals, peerStates, limiter, intervalMs, news, onRemoved, log} = needs;
  const links = new Map<number, Link>();
  const all = () => [...links.values()];
  const startedAt = new Date().toISOString();
  const wake = () => {
    for (const {sender} of all()) sender.wake();
  };
  const catchUps = createCatchUps({nodeNo, replication, onDone: wake, log});
  exchange.onBehind(from => {
    const link = links.get(from);
    if (link) catchUps.start(link.peer);
  });

  peers.follow(peer => {
    const failures = createFailureLog({nodeId: peer.nodeId, onRemoved, log});
    const sender = startOutboxSender({
      client: peer.client,
      replication,
      // What one knows that has joined since, it has from others.
      onGoneBack: peer.joinedAt > startedAt ? undefined : () => catchUps.start(peer),
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
    links.set(peer.nodeNo, {peer, sender, heartbeats});
    void heartbeats.beat();
    return () => {
      links.delete(peer.nodeNo);
      sender.stop();
      heartbeats.stop();
      limiter.unanswered(peer.nodeNo);
    };
  });

  const lost = findLostPeers({
    exchange,
    peers,
    states: () => all().map(({peer, heartbeats}) => ({peer, misses: heartbeats.misses})),
  });

  return {
    wake,
    async sendHeartbeats() {
      await Promise.all(all().map(async ({heartbeats}) => heartbeats.beat()));
    },
    async settled(seq, deadlineMs) {
      const outcomes = await Promise.all(
        all().map(async ({peer, sender}) => ((await sender.reached(seq, deadlineMs)) ? [] : [peer.nodeId])),
      );
      return outcomes.flat().sort();
    },
    leastAcknowledged() {
      const acknowledged = all().map(({sender}) => sender.acknowledged);
      return acknowledged.every(seq => seq !== undefined)
        ? Math.min(Number.MAX_SAFE_INTEGER, ...(acknowledged as number[]))
        : undefined;
    },
    async greet(deadlineMs) {
      const began = performance.now();
      const everybody = async (): Promise<boolean> => {
        const answered = await Promise.all(all().map(async ({heartbeats}) => heartbeats.beat()));
        const hasCaughtUp = await catchUps.done();
        if (answered.every(Boolean) && hasCaughtUp) return true;
        if (performance.now() - began > patienceMs) return false;
        // Nodes that are started together find each other's doors shut at first.
        await delay(100, undefined, {ref: false});
        return everybody();
      };
      return Promise.race([everybody(), delay(deadlineMs, false, {ref: false})]);
    },
    async sayGoodbye(deadlineMs) {
      const request = {method: 'POST', path: 'stopping', deadlineMs} as const;
      // A peer that does not hear it notices by itself, later.
      await Promise.all(all().map(async ({peer}) => peer.client.ask(z.null(), request).catch(() => {})));
    },
    async stop() {
      catchUps.stop();
      lost.stop();
      for (const {sender, heartbeats} of all()) {
        sender.stop();
        heartbeats.stop();
      }
      await catchUps.done();
    },
  };
};

// Everything this node does with each of its peers by itself: heartbeats, telling changes, catching up.
import {setTimeout as delay} from 'node:timers/promises';
import type {Logger} from 'pino';
import {Fault} from '../../shared/fault.ts';
import type {PeerTalk} from '../services/peer-talk.ts';
import type {Replication} from '../services/replication.ts';
import {catchUp} from './catch-up.ts';
import {type Heartbeats, startHeartbeats} from './heartbeats.ts';
import {lookForLostPeers} from './lost-peers.ts';
import {type OutboxSender, startOutboxSender} from './outbox-sender.ts';
import type {Peer, Peers} from './peers.ts';

export interface PeerLinks {
  /** There is a new event in the outbox. */
  wake(): void;
  /** Waits until the peers have applied event `seq`; resolves with the ids of those that could not be reached or did not in time. */
  settled(seq: number, deadlineMs: number): Promise<string[]>;
  /** The least that any peer has applied of this node's events; undefined while one has not said yet. */
  leastAcknowledged(): number | undefined;
  /** One heartbeat to everybody, and what follows from it; resolves with whether all have answered before the deadline. */
  greet(deadlineMs: number): Promise<boolean>;
  stop(): Promise<void>;
}

interface Needs {
  nodeNo: number;
  peers: Peers;
  talk: PeerTalk;
  replication: Replication;
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

const catchUpPauseMs = 1000;
const patienceMs = 1000;

export const startPeerLinks = ({nodeNo, peers, talk, replication, intervalMs, news, onRemoved, log}: Needs): PeerLinks => {
  const links = new Map<number, Link>();
  const startedAt = new Date().toISOString();
  const catchingUp = new Map<number, Promise<boolean>>();
  let isStopped = false;

  /** A peer that cannot be reached is told of when that begins and when it is over, not every second. */
  const failureLog = ({nodeId}: Peer) => {
    let isSilent = false;
    return {
      failed(error: unknown) {
        const level = isSilent ? 'debug' : 'warn';
        isSilent = true;
        if (!(error instanceof Fault)) log.error({node: nodeId, err: error}, 'talking to a node failed');
        else if (error.code === 'node_removed') onRemoved(nodeId);
        else log[level]({node: nodeId, detail: detailOf(error)}, 'the node does not answer');
      },
      worked() {
        if (isSilent) log.info({node: nodeId}, 'the node answers again');
        isSilent = false;
      },
    };
  };

  peers.follow(peer => {
    const failures = failureLog(peer);
    const sender = startOutboxSender({
      client: peer.client,
      replication,
      // What one knows that has joined since, it has from others.
      onGoneBack: peer.joinedAt > startedAt ? undefined : () => void takeAllFrom(peer.nodeNo),
      onFailure: failures.failed,
    });
    const heartbeats = startHeartbeats({
      peer,
      talk,
      intervalMs,
      news,
      nodeNo,
      onAnswer(appliedOfUs) {
        failures.worked();
        sender.heardApplied(appliedOfUs);
      },
      onFailure: failures.failed,
    });
    links.set(peer.nodeNo, {peer, sender, heartbeats});
    void heartbeats.beat();
    return () => {
      links.delete(peer.nodeNo);
      sender.stop();
      heartbeats.stop();
    };
  });

  const lost = lookForLostPeers({
    replication,
    peers: () => [...links.values()].map(({peer, heartbeats}) => ({peer, misses: heartbeats.misses})),
  });

  /** Resolves with whether it has been done. */
  const fetchAll = async ({peer}: Link): Promise<boolean> => {
    try {
      const count = await catchUp(peer.client, replication, nodeNo);
      log.info({node: peer.nodeId, records: count}, 'configuration taken from another node');
      for (const {sender} of links.values()) sender.wake();
      return true;
    } catch (error) {
      log.warn(
        {node: peer.nodeId, ...(error instanceof Fault ? {detail: detailOf(error)} : {err: error})},
        'taking the configuration from another node failed',
      );
      // Whoever noticed that it is needed notices again; not at once.
      await delay(catchUpPauseMs, undefined, {ref: false});
      return false;
    }
  };
  function takeAllFrom(from: number): void {
    const link = links.get(from);
    if (!link || isStopped || catchingUp.has(from)) return;
    catchingUp.set(
      from,
      fetchAll(link).finally(() => catchingUp.delete(from)),
    );
  }
  talk.onBehind(takeAllFrom);

  return {
    wake() {
      for (const {sender} of links.values()) sender.wake();
    },
    async settled(seq, deadlineMs) {
      const outcomes = await Promise.all(
        [...links.values()].map(async ({peer, sender}) => ((await sender.reached(seq, deadlineMs)) ? [] : [peer.nodeId])),
      );
      return outcomes.flat().sort();
    },
    leastAcknowledged() {
      const all = [...links.values()].map(({sender}) => sender.acknowledged);
      return all.every(seq => seq !== undefined) ? Math.min(Number.MAX_SAFE_INTEGER, ...(all as number[])) : undefined;
    },
    async greet(deadlineMs) {
      const startedAt = performance.now();
      const everybody = async (): Promise<boolean> => {
        const answered = await Promise.all([...links.values()].map(async ({heartbeats}) => heartbeats.beat()));
        const caughtUp = await Promise.all(catchingUp.values());
        if ([...answered, ...caughtUp].every(Boolean)) return true;
        if (performance.now() - startedAt > patienceMs) return false;
        // Nodes that are started together find each other's doors shut at first.
        await delay(100, undefined, {ref: false});
        return everybody();
      };
      return Promise.race([everybody(), delay(deadlineMs, false, {ref: false})]);
    },
    async stop() {
      isStopped = true;
      lost.stop();
      for (const {sender, heartbeats} of links.values()) {
        sender.stop();
        heartbeats.stop();
      }
      await Promise.all(catchingUp.values());
    },
  };
};

const detailOf = ({detail, details: {cause}}: Fault): string => (cause instanceof Error ? cause.message : detail);

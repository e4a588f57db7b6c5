// Heartbeats to one peer, sent at the interval, and sooner after urgent changes.

import type {Logger} from 'pino';
import {Fault} from '../../shared/fault.ts';
import {ownValue} from '../../shared/has-own.ts';
import {type Heartbeat, messages} from '../services/cluster/peer-protocol.ts';
import type {HeartbeatExchange} from '../services/cluster/replication-ports.ts';
import type {Peer, Peers} from './peers.ts';

interface Needs {
  peer: Peer;
  exchange: HeartbeatExchange;
  intervalMs: number;
  /** A text that changes with everything that peers should receive within a second: counted requests, changed configuration. */
  news(): string;
  /** Called with the last event of this node that the peer has applied, with the heartbeat that was sent to it, and when. */
  onAnswer(appliedOfUs: number, reply: Heartbeat, askedAtMs: number): void;
  onFailure(error: unknown): void;
  /** When the last heartbeat of the peer was received, by `performance.now()`. */
  heardAtMs(): number | undefined;
  nodeNo: number;
}

const pollMs = 1000;
const answerMs = 3000;

export const startHeartbeats = ({peer, exchange, intervalMs, news, onAnswer, onFailure, heardAtMs, nodeNo}: Needs) => {
  let usesSent = 0;
  let newsSent = '';
  let sentAt = Number.NEGATIVE_INFINITY;
  let underWay: Promise<boolean> | undefined;
  let isStopped = false;
  let misses = 0;

  const send = async (): Promise<boolean> => {
    const askedAtMs = performance.now();
    sentAt = askedAtMs;
    const current = news();
    try {
      const {heartbeat, usesUpTo} = await exchange.heartbeat(peer.nodeNo, usesSent);
      const reply = await peer.client.ask(messages.heartbeat.answer, {
        ...messages.heartbeat.at,
        body: heartbeat,
        deadlineMs: answerMs,
      });
      misses = 0;
      usesSent = usesUpTo;
      newsSent = current;
      await exchange.receiveHeartbeat(peer, reply);
      if (!isStopped) onAnswer(ownValue(reply.applied, nodeNo) ?? 0, heartbeat, askedAtMs);
      return true;
    } catch (error) {
      misses += 1;
      if (!isStopped) onFailure(error);
      return false;
    }
  };
  const beat = async (): Promise<boolean> => {
    underWay ??= send().finally(() => {
      underWay = undefined;
    });
    return underWay;
  };

  const timer = setInterval(() => {
    const isDue = performance.now() - sentAt >= intervalMs - pollMs / 2;
    // A heartbeat is sent at once to a node that is back. Otherwise it would still be reported as unreachable.
    const isBack = misses > 0 && (heardAtMs() ?? 0) > sentAt;
    if (isDue || isBack || news() !== newsSent) void beat();
  }, pollMs).unref();
  return {
    /** Sends a heartbeat now, unless one is under way; resolves with whether it was answered. */
    beat,
    /** How many heartbeats in a row were not answered. */
    get misses(): number {
      return misses;
    },
    stop(): void {
      isStopped = true;
      clearInterval(timer);
    },
  };
};

// Search for peers that do not answer, at addresses that other peers know. A peer that moved while this node was down announces its new
// address to the address that it knows of this node, which may be outdated too. A third node may know the new address. This node
// tries it, and accepts it once the peer itself answers there.

interface LostPeersNeeds {
  exchange: HeartbeatExchange;
  peers: Pick<Peers, 'clientAt'>;
  /** All peers, each with the number of heartbeats in a row that it has not answered. */
  states(): {peer: Peer; misses: number}[];
}

const searchMs = 5000;
const lostAfterMisses = 3;
const searchAnswerMs = 3000;

/** Repeatedly asks a peer that answers for the addresses of the peers that do not. */
export const findLostPeers = ({exchange, peers, states}: LostPeersNeeds): {stop(): void} => {
  /** The answer to a heartbeat names the node and its address, over its own certificate. */
  const tryAt = async ({nodeNo, nodeId}: Peer, clusterUrl: string): Promise<void> => {
    const client = peers.clientAt({nodeNo, nodeId}, clusterUrl);
    try {
      const {heartbeat} = await exchange.heartbeat(nodeNo, Number.POSITIVE_INFINITY);
      const {at, answer} = messages.heartbeat;
      const request = {...at, body: heartbeat, deadlineMs: searchAnswerMs};
      await exchange.receiveHeartbeat({nodeNo, nodeId}, await client.ask(answer, request));
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
    const wanted = {...messages.records.at, body: {keys}, deadlineMs: searchAnswerMs};
    const records = await asked.peer.client.ask(messages.records.answer, wanted);
    for (const {peer} of lost) {
      const url = records.find(({kind, id}) => kind === 'node' && id === peer.nodeNo)?.fields.cluster_url?.[0];
      // After a failure the next poll tries again, perhaps with the answer of another peer.
      if (typeof url === 'string') await tryAt(peer, url).catch(() => {});
    }
  };
  const timer = setInterval(() => void search().catch(() => {}), searchMs).unref();
  return {stop: () => clearInterval(timer)};
};

interface FailureLogNeeds {
  nodeId: string;
  /** Called when the peer answers that this node has been removed from the cluster. */
  onRemoved(by: string): void;
  log: Logger;
}

/** Logs the beginning and the end of a peer's silence, not each failed request. */
export const createFailureLog = ({nodeId, onRemoved, log}: FailureLogNeeds) => {
  let isSilent = false;
  return {
    failed(error: unknown): void {
      const level = isSilent ? 'debug' : 'warn';
      isSilent = true;
      if (!(error instanceof Fault)) log.error({node: nodeId, err: error}, 'a request to a node failed');
      else if (error.code === 'node_removed') onRemoved(nodeId);
      else log[level]({node: nodeId, detail: causeOf(error)}, 'the node does not answer');
    },
    worked(): void {
      if (isSilent) log.info({node: nodeId}, 'the node answers again');
      isSilent = false;
    },
  };
};

/** The system's own message; `detail` is written for the caller of a request. */
export const causeOf = ({detail, details: {cause}}: Fault): string => (cause instanceof Error ? cause.message : detail);

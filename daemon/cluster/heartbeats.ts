// Heartbeats to one peer, sent at the interval, and sooner after urgent changes.

import {type Heartbeat, heartbeatSchema} from '../services/cluster/peer-protocol.ts';
import type {HeartbeatExchange} from '../services/cluster/replication-ports.ts';
import type {Peer} from './peers.ts';

export interface Heartbeats {
  /** Sends a heartbeat now, unless one is under way; resolves with whether it was answered. */
  beat(): Promise<boolean>;
  /** How many heartbeats in a row were not answered. */
  readonly misses: number;
  stop(): void;
}

interface Needs {
  peer: Peer;
  exchange: HeartbeatExchange;
  intervalMs: number;
  /** A text that changes with everything that peers should receive within a second: counted requests, changed configuration. */
  news(): string;
  /** Called with the last event of this node that the peer has applied, and with the heartbeat that was sent to it. */
  onAnswer(appliedOfUs: number, reply: Heartbeat): void;
  onFailure(error: unknown): void;
  /** When the last heartbeat of the peer was received, by `performance.now()`. */
  heardAtMs(): number | undefined;
  nodeNo: number;
}

const pollMs = 1000;
const answerMs = 3000;

export const startHeartbeats = ({
  peer,
  exchange,
  intervalMs,
  news,
  onAnswer,
  onFailure,
  heardAtMs,
  nodeNo,
}: Needs): Heartbeats => {
  let usesSent = 0;
  let newsSent = '';
  let sentAt = Number.NEGATIVE_INFINITY;
  let underWay: Promise<boolean> | undefined;
  let isStopped = false;
  let misses = 0;

  const send = async (): Promise<boolean> => {
    sentAt = performance.now();
    const current = news();
    try {
      const {heartbeat, usesUpTo} = await exchange.heartbeat(peer.nodeNo, usesSent);
      const reply = await peer.client.ask(heartbeatSchema, {
        method: 'POST',
        path: 'heartbeat',
        body: heartbeat,
        deadlineMs: answerMs,
      });
      misses = 0;
      usesSent = usesUpTo;
      newsSent = current;
      await exchange.receiveHeartbeat(peer, reply);
      if (!isStopped) onAnswer(reply.applied[nodeNo] ?? 0, heartbeat);
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
    beat,
    get misses() {
      return misses;
    },
    stop() {
      isStopped = true;
      clearInterval(timer);
    },
  };
};

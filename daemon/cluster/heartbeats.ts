// One peer's heartbeats: at the interval, and sooner when there is something that cannot wait so long.

import {type Heartbeat, heartbeatSchema} from '../services/cluster/peer-protocol.ts';
import type {HeartbeatExchange} from '../services/cluster/replication-ports.ts';
import type {Peer} from './peers.ts';

export interface Heartbeats {
  /** Sends one now, unless one is under way; resolves with whether it has been answered. */
  beat(): Promise<boolean>;
  /** How many in a row were not answered. */
  readonly misses: number;
  stop(): void;
}

interface Needs {
  peer: Peer;
  exchange: HeartbeatExchange;
  intervalMs: number;
  /** Changes when the peers should hear of it within a second: requests counted, configuration changed. */
  news(): string;
  /** With how far the peer has applied this node's events, and with what it was told. */
  onAnswer(appliedOfUs: number, reply: Heartbeat): void;
  onFailure(error: unknown): void;
  /** When the peer was last heard, by `performance.now()`. */
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
  let usesTold = 0;
  let newsTold = '';
  let sentAt = Number.NEGATIVE_INFINITY;
  let underWay: Promise<boolean> | undefined;
  let isStopped = false;
  let misses = 0;

  const send = async (): Promise<boolean> => {
    sentAt = performance.now();
    const current = news();
    try {
      const {heartbeat, usesUpTo} = await exchange.heartbeat(peer.nodeNo, usesTold);
      const reply = await peer.client.ask(heartbeatSchema, {
        method: 'POST',
        path: 'heartbeat',
        body: heartbeat,
        deadlineMs: answerMs,
      });
      misses = 0;
      usesTold = usesUpTo;
      newsTold = current;
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
    // A node that is back is asked at once, or it would seem that it cannot be reached.
    const isBack = misses > 0 && (heardAtMs() ?? 0) > sentAt;
    if (isDue || isBack || news() !== newsTold) void beat();
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

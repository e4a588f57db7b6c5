// Rate limiters of several nodes that exchange their counts in simulated time: nothing waits, and all is in order.
import {createRateLimiter, type RateLimiter} from '../../daemon/services/access/rate-limit.ts';

export interface LimitedNodesOptions {
  /** For each node, how far its wall clock is ahead. */
  clockOffsetsMs: readonly number[];
  /** Delay of a heartbeat and of its answer; the `n`-th line takes the `n`-th value, cyclically. */
  delaysMs: readonly number[];
}

export interface LimitedNodes {
  limiters: readonly RateLimiter[];
  /** Sends `count` requests to a node at one moment. */
  askAt(atMs: number, node: number, count: number): void;
  /** Moments of the requests that passed, in order, once all is over. */
  run(untilMs: number): number[];
}

const startMs = Date.parse('2026-03-01T09:00:00Z');
const heartbeatMs = 1000;

export const limitedNodes = (keyId: number, limit: number, {clockOffsetsMs, delaysMs}: LimitedNodesOptions): LimitedNodes => {
  let nowMs = 0;
  const due: {atMs: number; order: number; run(): void}[] = [];
  const passed: number[] = [];
  const nodes = clockOffsetsMs.map(offsetMs => {
    const now = () => startMs + nowMs + offsetMs;
    return {now, limiter: createRateLimiter({now, monotonic: () => nowMs})};
  });
  let orders = 0;
  const at = (atMs: number, run: () => void): void => {
    orders += 1;
    due.push({atMs, order: orders, run});
  };

  const line = (from: number, to: number, delayMs: number) => {
    const [sender, receiver] = [nodes[from], nodes[to]];
    if (!sender || !receiver) throw new Error('no such node');
    const beat = () => {
      const counts = sender.limiter.counts();
      const sentAt = sender.now();
      at(nowMs + delayMs, () => {
        receiver.limiter.receiveCounts(from, counts, sentAt);
        const answer = receiver.limiter.counts();
        const answeredAt = receiver.now();
        at(nowMs + delayMs, () => {
          sender.limiter.receiveCounts(to, answer, answeredAt);
          sender.limiter.answered(to, counts);
        });
      });
      at(nowMs + heartbeatMs, beat);
    };
    beat();
  };
  let lines = 0;
  for (const from of nodes.keys())
    for (const to of nodes.keys())
      if (from !== to) {
        line(from, to, delaysMs[lines % delaysMs.length] ?? 0);
        lines += 1;
      }

  return {
    limiters: nodes.map(({limiter}) => limiter),
    askAt: (atMs, node, count) =>
      at(atMs, () => {
        for (let n = 0; n < count; n += 1) if (nodes[node]?.limiter.take(keyId, limit).isAllowed) passed.push(nowMs);
      }),
    run(untilMs) {
      for (;;) {
        const next = due.reduce((a, b) => (b.atMs < a.atMs || (b.atMs === a.atMs && b.order < a.order) ? b : a), due[0] ?? never);
        if (next.atMs > untilMs) return passed;
        due.splice(due.indexOf(next), 1);
        nowMs = next.atMs;
        next.run();
      }
    },
  };
};

const never = {atMs: Number.POSITIVE_INFINITY, order: 0, run: () => undefined};

/** The largest number of requests in any 60 s. `moments` are in order. */
export const mostInAMinute = (moments: readonly number[]): number => {
  let first = 0;
  let most = 0;
  for (const [at, moment] of moments.entries()) {
    while (moment - (moments[first] ?? moment) >= 60_000) first += 1;
    most = Math.max(most, at - first + 1);
  }
  return most;
};

// Rate limiter of API keys over all nodes. Nodes exchange their counts in heartbeats, so each node knows the counts of the others with
// a short delay. While nodes are connected, two rules bound the requests of a key in any minute to 1.5 × the limit, or to the limit
// plus one for each other node where that is more:
// - A node allows nothing once its own and the received counts of the last minute reach the limit.
// - A node allows at most its share of a key's limit before every other node has acknowledged these requests. The shares of all
//   other nodes, which are all that a node may not know of, add up to half the limit.
// Nodes that are not connected cannot know the counts of each other; then each allows the whole limit.

import {setTimeout as delay} from 'node:timers/promises';
import type {KeyCounts} from '../cluster/peer-protocol.ts';

export interface RateLimitState {
  isAllowed: boolean;
  /** The request may be allowed after the other nodes have acknowledged the counts of this node. */
  awaitsPeers: boolean;
  limit: number;
  remaining: number;
  /** Seconds until more requests are left, rounded up. */
  resetSeconds: number;
}

export interface RateLimiter {
  /** Counts one request of a key against its limit per minute, including the requests that other nodes have reported. */
  take(keyId: number, limit: number): RateLimitState;
  /** This node's own counts, of the current minute of its clock and of the one before. */
  counts(): KeyCounts;
  /** Number of requests that this node has allowed since its start. */
  readonly taken: number;
  /** Applies the counts of another node. `clockMs` is that node's clock when it sent them. */
  receiveCounts(nodeNo: number, counts: KeyCounts, clockMs: number): void;
  /** The node has acknowledged these counts of this node. */
  answered(nodeNo: number, counts: KeyCounts): void;
  /** The node does not answer, or has left the cluster, so requests no longer wait for it. */
  unanswered(nodeNo: number): void;
}

interface Needs {
  /** The wall clock, in milliseconds; determines the current minute. */
  now: () => number;
  /** Milliseconds of a clock that never jumps. */
  monotonic: () => number;
}

const minuteMs = 60_000;
/** Messages may arrive out of order. A clock that is back by more than this was set back. */
const maxReorderMs = 5000;

/** Counts by key, of two minutes at most. */
type Minutes = Map<number, Map<number, number>>;

/** Does not wait itself, see `createClusterRateLimits`. After a restart a node has lost its own counts. */
export const createRateLimiter = ({now, monotonic}: Needs): RateLimiter => {
  const lastMinute = createSlidingCounts(monotonic);
  const own: Minutes = new Map();
  const others = new Map<number, {minutes: Minutes; clockMs: number}>();
  /** The counts of `own` that each node has acknowledged, for nodes that answer. */
  const acknowledged = new Map<number, Minutes>();
  let taken = 0;

  const currentMinute = (): number => {
    const minute = Math.floor(now() / minuteMs);
    if (!own.has(minute)) lastMinute.prune();
    countsIn(own, minute);
    return minute;
  };
  const shareOf = (limit: number): number => Math.max(1, Math.floor(limit / 2 / acknowledged.size));

  return {
    take(keyId, limit) {
      const used = lastMinute.countOf(keyId);
      const awaitsPeers = used < limit && mostUnreported(own, acknowledged.values(), keyId) >= shareOf(limit);
      const isAllowed = used < limit && !awaitsPeers;
      if (isAllowed) {
        const counts = countsIn(own, currentMinute());
        counts.set(keyId, (counts.get(keyId) ?? 0) + 1);
        lastMinute.add(keyId, 1);
        taken += 1;
      }
      return {
        isAllowed,
        awaitsPeers,
        limit,
        remaining: isAllowed ? limit - used - 1 : 0,
        resetSeconds: awaitsPeers ? 1 : Math.ceil(lastMinute.msUntilLess(keyId) / 1000),
      };
    },

    counts() {
      const window = currentMinute();
      const [before] = [...own.keys()].filter(minute => minute !== window);
      return {
        window,
        counts: [...countsIn(own, window)],
        ...(before !== undefined && {before: {window: before, counts: [...countsIn(own, before)]}}),
      };
    },
    get taken() {
      return taken;
    },

    receiveCounts(nodeNo, {before, ...running}, clockMs) {
      const {minutes, clockMs: latestMs} = others.get(nodeNo) ?? {minutes: new Map(), clockMs: 0};
      // A later message, which has arrived before, contains all of these counts.
      if (clockMs < latestMs && clockMs > latestMs - maxReorderMs) return;
      others.set(nodeNo, {minutes, clockMs});
      for (const {window, counts} of before ? [before, running] : [running]) {
        const known = countsIn(minutes, window);
        const ageMs = Math.max(0, clockMs - (window + 1) * minuteMs);
        for (const [keyId, count] of counts) {
          const more = count - (known.get(keyId) ?? 0);
          if (more <= 0) continue;
          known.set(keyId, count);
          lastMinute.add(keyId, more, ageMs);
        }
      }
    },

    answered(nodeNo, {before, ...running}) {
      acknowledged.set(
        nodeNo,
        new Map([...(before ? [before] : []), running].map(({window, counts}) => [window, new Map(counts)])),
      );
    },
    unanswered: nodeNo => void acknowledged.delete(nodeNo),
  };
};

/** The largest number of uses of a key that any single node has not acknowledged yet. */
const mostUnreported = (own: Minutes, acknowledged: Iterable<Minutes>, keyId: number): number => {
  let most = 0;
  for (const known of acknowledged) {
    let count = 0;
    for (const [minute, counts] of own) count += (counts.get(keyId) ?? 0) - (known.get(minute)?.get(keyId) ?? 0);
    most = Math.max(most, count);
  }
  return most;
};

/** The counts of one minute, added if missing. Only two minutes are stored: a third one replaces the oldest. */
const countsIn = (minutes: Minutes, minute: number): Map<number, number> => {
  const known = minutes.get(minute);
  if (known) return known;
  const counts = new Map<number, number>();
  minutes.set(minute, counts);
  const [first] = minutes.keys();
  if (minutes.size > 2 && first !== undefined) minutes.delete(first);
  return counts;
};

const windowMs = 60_000;
/** Events within one step leave the window together, a minute after the last of them. */
const stepMs = 1000;

interface SlidingCounts {
  /** `ageMs`: how long ago the events happened, at least. */
  add(id: number, count: number, ageMs?: number): void;
  /** Events of the last minute; may include events that are up to a second older. */
  countOf(id: number): number;
  /** Milliseconds until the count decreases; 0 when the count is 0. */
  msUntilLess(id: number): number;
  /** Removes ids whose count is 0. */
  prune(): void;
}

interface Part {
  sinceMs: number;
  latestMs: number;
  count: number;
}

interface Sum {
  total: number;
  /** Ordered by `latestMs`. */
  parts: Part[];
}

/** `monotonic`: milliseconds of a clock that never jumps. */
const createSlidingCounts = (monotonic: () => number): SlidingCounts => {
  const sums = new Map<number, Sum>();

  const currentOf = (id: number): Sum | undefined => {
    const sum = sums.get(id);
    const endMs = monotonic() - windowMs;
    while (sum?.parts[0] && sum.parts[0].latestMs <= endMs) sum.total -= sum.parts.shift()?.count ?? 0;
    return sum;
  };

  return {
    add(id, count, ageMs = 0) {
      if (count <= 0 || ageMs >= windowMs) return;
      const atMs = monotonic() - ageMs;
      const sum = currentOf(id) ?? {total: 0, parts: []};
      sums.set(id, sum);
      sum.total += count;
      const at = sum.parts.findLastIndex(({latestMs}) => latestMs <= atMs);
      const part = sum.parts[at];
      if (part && atMs - part.sinceMs < stepMs) {
        part.latestMs = atMs;
        part.count += count;
      } else sum.parts.splice(at + 1, 0, {sinceMs: atMs, latestMs: atMs, count});
    },
    countOf: id => currentOf(id)?.total ?? 0,
    msUntilLess(id) {
      const first = currentOf(id)?.parts[0];
      return first ? first.latestMs + windowMs - monotonic() : 0;
    },
    prune() {
      for (const id of [...sums.keys()]) if (currentOf(id)?.parts.length === 0) sums.delete(id);
    },
  };
};

export interface ClusterRateLimits {
  /** Like `RateLimiter.take`, but waits for up to a second while the decision awaits the other nodes. */
  take(keyId: number, limit: number): Promise<RateLimitState>;
}

interface ClusterRateLimitNeeds {
  limiter: Pick<RateLimiter, 'take'>;
  /** Sends a heartbeat to each other node. Resolves when each has answered or failed. */
  sendHeartbeats(): Promise<void>;
}

/** A heartbeat takes milliseconds, so a node that needs longer than this is probably down. */
const maxWaitMs = 1000;

export const createClusterRateLimits = ({limiter, sendHeartbeats}: ClusterRateLimitNeeds): ClusterRateLimits => ({
  async take(keyId, limit) {
    const deadlineMs = performance.now() + maxWaitMs;
    for (;;) {
      const state = limiter.take(keyId, limit);
      const leftMs = deadlineMs - performance.now();
      if (!state.awaitsPeers || leftMs <= 0) return state;
      await Promise.race([sendHeartbeats(), delay(leftMs)]);
    }
  },
});

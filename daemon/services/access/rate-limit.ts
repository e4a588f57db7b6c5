// The limit of each key over all nodes. Nodes tell each other their counts, so each knows of the others' a moment late. Two rules
// keep what passes in any minute at 1.5 × the limit, or at the limit and one for each other node where that is more, while
// nodes hear one another:
// - A node lets nothing pass once the limit is used up by what it has counted and heard of in the last minute.
// - Of each key it lets no more pass than its share while some other node has not heard of that. The shares of the others,
//   which is all that a node may not know of, come to half the limit.
// Nodes that do not hear one another cannot know: then each lets the whole limit pass.
import type {KeyCounts} from '../cluster/peer-protocol.ts';
import {createSlidingCounts} from './sliding-counts.ts';

export interface RateLimitState {
  isAllowed: boolean;
  /** It may be allowed once the other nodes have heard how often the key was used here. */
  awaitsPeers: boolean;
  limit: number;
  remaining: number;
  /** Until more is left, rounded up. */
  resetSeconds: number;
}

export interface RateLimiter {
  /** Counts one request of a key against its limit per minute, together with what other nodes have told of it. */
  take(keyId: number, limit: number): RateLimitState;
  /** What this node has counted itself, in this minute of its clock and in the one before. */
  counts(): KeyCounts;
  /** Goes up with every request that is counted here. */
  readonly taken: number;
  /** What another node has counted. `clockMs`: its clock when it said so. */
  receiveCounts(nodeNo: number, counts: KeyCounts, clockMs: number): void;
  /** The node has answered a heartbeat with these counts, so it knows of them. */
  answered(nodeNo: number, counts: KeyCounts): void;
  /** The node does not answer, or is none of the cluster any more: nothing waits for it. */
  unanswered(nodeNo: number): void;
}

interface Needs {
  /** The wall clock: which minute it is. */
  now: () => number;
  /** Milliseconds of a clock that never jumps. */
  monotonic: () => number;
}

const minuteMs = 60_000;
/** Something that was sent earlier may arrive later. By more than this, the clock of the sender was set back. */
const overtakenMs = 5000;

/** Counts by key, of two minutes at most. */
type Minutes = Map<number, Map<number, number>>;

/** Waiting is up to the caller, see `createClusterRateLimits`. A node that starts anew has forgotten what it has counted itself. */
export const createRateLimiter = ({now, monotonic}: Needs): RateLimiter => {
  const lastMinute = createSlidingCounts(monotonic);
  const own: Minutes = new Map();
  const others = new Map<number, {minutes: Minutes; clockMs: number}>();
  /** What each node that answers knows of `own`. */
  const knownThere = new Map<number, Minutes>();
  let taken = 0;

  const enter = (): number => {
    const minute = Math.floor(now() / minuteMs);
    if (!own.has(minute)) lastMinute.prune();
    countsIn(own, minute);
    return minute;
  };
  const shareOf = (limit: number): number => Math.max(1, Math.floor(limit / 2 / knownThere.size));

  return {
    take(keyId, limit) {
      const used = lastMinute.countOf(keyId);
      const awaitsPeers = used < limit && mostUnreported(own, knownThere.values(), keyId) >= shareOf(limit);
      const isAllowed = used < limit && !awaitsPeers;
      if (isAllowed) {
        const counts = countsIn(own, enter());
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
      const window = enter();
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
      // All of it was in what has come already.
      if (clockMs < latestMs && clockMs > latestMs - overtakenMs) return;
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
      knownThere.set(
        nodeNo,
        new Map([...(before ? [before] : []), running].map(({window, counts}) => [window, new Map(counts)])),
      );
    },
    unanswered: nodeNo => void knownThere.delete(nodeNo),
  };
};

/** How many uses of a key, at most, one of the nodes does not know of yet. */
const mostUnreported = (own: Minutes, knownThere: Iterable<Minutes>, keyId: number): number => {
  let most = 0;
  for (const known of knownThere) {
    let count = 0;
    for (const [minute, counts] of own) count += (counts.get(keyId) ?? 0) - (known.get(minute)?.get(keyId) ?? 0);
    most = Math.max(most, count);
  }
  return most;
};

/** Those of one minute. Of three, the one that was entered first is forgotten. */
const countsIn = (minutes: Minutes, minute: number): Map<number, number> => {
  const known = minutes.get(minute);
  if (known) return known;
  const counts = new Map<number, number>();
  minutes.set(minute, counts);
  const [first] = minutes.keys();
  if (minutes.size > 2 && first !== undefined) minutes.delete(first);
  return counts;
};

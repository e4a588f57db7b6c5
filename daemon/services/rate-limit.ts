import type {KeyCounts} from './peer-protocol.ts';

const windowMs = 60_000;

export interface RateLimitState {
  isAllowed: boolean;
  limit: number;
  remaining: number;
  /** Until the window ends and the whole limit is there again, rounded up. */
  resetSeconds: number;
}

export interface RateLimiter {
  /** Counts one request of a key against its limit per minute, together with what other nodes have told of it. */
  take(keyId: number, limit: number): RateLimitState;
  /** What this node has counted itself in the running minute. */
  counts(): KeyCounts;
  /** Goes up with every request that is counted here. */
  readonly taken: number;
  /** What another node has counted. `clockMs`: its clock when it said so. */
  hear(nodeNo: number, counts: KeyCounts, clockMs: number): void;
}

/** Counts in whole minutes of the clock, so that the nodes of a cluster count in the same windows. */
export const createRateLimiter = (now: () => number): RateLimiter => {
  let window = 0;
  let taken = 0;
  let counts = new Map<number, number>();
  const others = new Map<number, {window: number; counts: ReadonlyMap<number, number>}>();

  const enter = (): number => {
    const current = Math.floor(now() / windowMs);
    if (current !== window) {
      window = current;
      counts = new Map();
    }
    return current;
  };
  const elsewhere = (keyId: number): number => {
    let sum = 0;
    for (const other of others.values()) if (other.window === window) sum += other.counts.get(keyId) ?? 0;
    return sum;
  };

  return {
    take(keyId, limit) {
      const current = enter();
      const own = counts.get(keyId) ?? 0;
      const used = own + elsewhere(keyId);
      const isAllowed = used < limit;
      if (isAllowed) {
        counts.set(keyId, own + 1);
        taken += 1;
      }
      return {
        isAllowed,
        limit,
        remaining: Math.max(0, limit - used - 1),
        resetSeconds: Math.ceil(((current + 1) * windowMs - now()) / 1000),
      };
    },

    counts: () => ({window: enter(), counts: [...counts]}),
    get taken() {
      return taken;
    },

    hear(nodeNo, told, clockMs) {
      // Clocks differ: the other's minute counts for the one of ours that its middle falls into.
      const middle = (told.window + 0.5) * windowMs + now() - clockMs;
      const at = Math.floor(middle / windowMs);
      const before = others.get(nodeNo);
      // What is on its way may be overtaken by what was said later: within a minute, counts only grow.
      const known = before?.window === at ? before.counts : new Map<number, number>();
      const heard = told.counts.map(([keyId, count]): [number, number] => [keyId, Math.max(count, known.get(keyId) ?? 0)]);
      others.set(nodeNo, {window: at, counts: new Map([...known, ...heard])});
    },
  };
};

const windowMs = 60_000;

export interface RateLimitState {
  isAllowed: boolean;
  limit: number;
  remaining: number;
  /** Until the window ends and the whole limit is there again, rounded up. */
  resetSeconds: number;
}

export interface RateLimiter {
  /** Counts one request of a key against its limit per minute. */
  take(keyId: number, limit: number): RateLimitState;
}

/** Counts in whole minutes of the clock, so that the nodes of a cluster count in the same windows. */
export const createRateLimiter = (now: () => number): RateLimiter => {
  let window = 0;
  let counts = new Map<number, number>();

  return {
    take(keyId, limit) {
      const current = Math.floor(now() / windowMs);
      if (current !== window) {
        window = current;
        counts = new Map();
      }
      const used = counts.get(keyId) ?? 0;
      const isAllowed = used < limit;
      if (isAllowed) counts.set(keyId, used + 1);
      return {
        isAllowed,
        limit,
        remaining: Math.max(0, limit - used - 1),
        resetSeconds: Math.ceil(((current + 1) * windowMs - now()) / 1000),
      };
    },
  };
};

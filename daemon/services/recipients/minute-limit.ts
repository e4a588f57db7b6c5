// Limit of requests a minute, for strangers.

export interface MinuteLimit {
  /** Whether `key` may make another request now, which counts then. */
  take(key: string): boolean;
  /** The last one does not count. */
  giveBack(key: string): void;
}

/** Beyond so many, the others are not counted. */
const maxKeys = 10_000;

/** What is known is forgotten every minute. */
export const createMinuteLimit = (most: number, monotonic = () => performance.now()): MinuteLimit => {
  let counts = new Map<string, number>();
  let begun = monotonic();
  const current = (): Map<string, number> => {
    if (monotonic() - begun < 60_000) return counts;
    counts = new Map();
    begun = monotonic();
    return counts;
  };
  return {
    take(key) {
      const known = current();
      const count = known.get(key) ?? 0;
      if (count >= most) return false;
      if (count > 0 || known.size < maxKeys) known.set(key, count + 1);
      return true;
    },
    giveBack(key) {
      const known = current();
      const count = known.get(key);
      if (count !== undefined && count > 0) known.set(key, count - 1);
    },
  };
};

// Limit of requests a minute, for strangers.

interface MinuteLimit {
  /** Whether `key` may make no more requests now. */
  isFull(key: string): boolean;
  count(key: string): void;
}

/** Beyond so many, the others are not counted. */
const maxKeys = 10_000;

/** What is known is forgotten every minute. */
export const createMinuteLimit = (most: number): MinuteLimit => {
  let counts = new Map<string, number>();
  let begun = performance.now();
  const current = (): Map<string, number> => {
    if (performance.now() - begun < 60_000) return counts;
    counts = new Map();
    begun = performance.now();
    return counts;
  };
  return {
    isFull: key => (current().get(key) ?? 0) >= most,
    count(key) {
      const known = current();
      const count = known.get(key) ?? 0;
      if (count > 0 || known.size < maxKeys) known.set(key, count + 1);
    },
  };
};

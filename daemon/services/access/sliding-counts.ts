// How often each of many things happened in the last minute. It slides: nothing is forgotten all at once.

const windowMs = 60_000;
/** What happens within it ends as one, a minute after the last of it. */
const stepMs = 1000;

export interface SlidingCounts {
  /** `ageMs`: how long ago that was, at least. */
  add(id: number, count: number, ageMs?: number): void;
  /** In the last minute; what was less than a second before that may still be among it. */
  countOf(id: number): number;
  /** Milliseconds until it counts less; 0 when it counts nothing. */
  msUntilLess(id: number): number;
  /** Forgets what has nothing to count. */
  prune(): void;
}

interface Part {
  sinceMs: number;
  latestMs: number;
  count: number;
}

interface Sum {
  total: number;
  /** By `latestMs`. */
  parts: Part[];
}

/** `monotonic`: milliseconds of a clock that never jumps. */
export const createSlidingCounts = (monotonic: () => number): SlidingCounts => {
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

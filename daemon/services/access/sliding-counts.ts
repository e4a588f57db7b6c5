// Counts per id over a sliding window of one minute.

const windowMs = 60_000;
/** Events within one step leave the window together, a minute after the last of them. */
const stepMs = 1000;

export interface SlidingCounts {
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

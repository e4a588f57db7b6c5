/** The results in the order of the items. At most `limit` at a time; the first that rejects ends it, once those under way are done. */
export const inParallel = async <T, R>(items: readonly T[], limit: number, work: (item: T) => Promise<R>): Promise<R[]> => {
  const results: R[] = [];
  let next = 0;
  let isBroken = false;
  const worker = async (): Promise<void> => {
    while (next < items.length && !isBroken) {
      const at = next;
      next += 1;
      try {
        results[at] = await work(items[at] as T);
      } catch (error) {
        isBroken = true;
        throw error;
      }
    }
  };
  const ended = await Promise.allSettled(Array.from({length: Math.min(limit, items.length)}, worker));
  for (const end of ended) if (end.status === 'rejected') throw end.reason;
  return results;
};

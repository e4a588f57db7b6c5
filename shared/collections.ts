// Order, groups and chunks of lists.
/** Ascending order by code units for Array.sort: the same on every machine, whatever its language. */
export const ascending = <T extends string | number>(a: T, b: T): number => (a < b ? -1 : Number(a > b));

/** As Map.groupBy in later versions of Node. */
export const groupBy = <K, T>(items: Iterable<T>, keyOf: (item: T) => K): Map<K, T[]> => {
  const groups = new Map<K, T[]>();
  for (const item of items) {
    const key = keyOf(item);
    const group = groups.get(key);
    if (group) group.push(item);
    else groups.set(key, [item]);
  }
  return groups;
};

const size = 100;

export const chunksOf = <T>(items: readonly T[]): T[][] =>
  Array.from({length: Math.ceil(items.length / size)}, (_, n) => items.slice(n * size, (n + 1) * size));

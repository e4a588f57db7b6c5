// Splitting of long lists, for work that is done in steps.

const size = 100;

export const chunksOf = <T>(items: readonly T[]): T[][] =>
  Array.from({length: Math.ceil(items.length / size)}, (_, n) => items.slice(n * size, (n + 1) * size));

// Splitting of long lists, for work that is done in steps.

const defaultSize = 100;

export const chunksOf = <T>(items: readonly T[], size = defaultSize): T[][] =>
  Array.from({length: Math.ceil(items.length / size)}, (_, n) => items.slice(n * size, (n + 1) * size));

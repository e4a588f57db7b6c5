// Parts of a long list, for what is done in steps.

const perPart = 100;

export const chunksOf = <T>(items: readonly T[], size = perPart): T[][] =>
  Array.from({length: Math.ceil(items.length / size)}, (_, n) => items.slice(n * size, (n + 1) * size));

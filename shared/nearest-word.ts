/**
 * The one candidate that `word` is a misspelling of; undefined when none is near, or when two are as near. A word that only has
 * another prefix (`unjoin` and `join`, `restart` and `start`) is no misspelling: it often means the opposite.
 */
export const nearestWord = (word: string, candidates: Iterable<string>): string | undefined => {
  if (word.length < 3 || word.length > 40) return undefined;
  const near = [...new Set(candidates)]
    .map(candidate => ({candidate, distance: distance(word, candidate)}))
    .filter(({candidate, distance}) => distance <= mistakesIn(word) && candidate.length > 2 && !isPrefixed(word, candidate))
    .toSorted((one, other) => one.distance - other.distance);
  return near[0]?.distance === near[1]?.distance ? undefined : near[0]?.candidate;
};

/** The one candidate that begins with `word`. */
export const begunWord = (word: string, candidates: Iterable<string>): string | undefined => {
  const begun = word.length < 3 ? [] : [...new Set(candidates)].filter(candidate => candidate.startsWith(word));
  return begun.length === 1 ? begun[0] : undefined;
};

const mistakesIn = ({length}: string): number => {
  if (length <= 5) return 1;
  return length <= 9 ? 2 : 3;
};

/** Whether all that differs is a prefix of two or three letters. */
const isPrefixed = (one: string, other: string): boolean => {
  let same = 0;
  while (same < Math.min(one.length, other.length) && one.at(-1 - same) === other.at(-1 - same)) same += 1;
  const [prefix, otherPrefix] = [one.slice(0, one.length - same), other.slice(0, other.length - same)];
  return Math.max(prefix.length, otherPrefix.length) <= 3 && distance(prefix, otherPrefix) >= 2;
};

/** Letters to insert, remove, replace or swap with their neighbour (optimal string alignment). */
const distance = (one: string, other: string): number => {
  let before: number[] = [];
  let row = Array.from({length: other.length + 1}, (_, at) => at);
  for (let line = 1; line <= one.length; line += 1) {
    const next = [line];
    for (let at = 1; at <= other.length; at += 1) {
      const isSame = one[line - 1] === other[at - 1];
      const steps = [(next[at - 1] ?? 0) + 1, (row[at] ?? 0) + 1, (row[at - 1] ?? 0) + (isSame ? 0 : 1)];
      const isSwapped = at > 1 && one[line - 1] === other[at - 2] && one[line - 2] === other[at - 1];
      next.push(Math.min(...steps, ...(isSwapped ? [(before[at - 2] ?? 0) + 1] : [])));
    }
    [before, row] = [row, next];
  }
  return row.at(-1) ?? 0;
};

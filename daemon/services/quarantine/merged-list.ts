// One page of a list that lies on many nodes, each of which can only list and count its own part. A page deep inside is not
// found by fetching all that comes before it: the parts first agree on a place before the page, and are listed from there.
import type {Page} from '../../../shared/hold-filter.ts';
import type {AskAll, Gathered} from './gather.ts';
import {createPageShares, type PageShares} from './page-shares.ts';

/** `K`: what entries are ordered by, which every entry `E` shows too. */
export interface Part<E extends K, K> {
  readonly nodeId: string;
  list(page: Page): Promise<{entries: E[]; total: number}>;
  marks(steps: Steps): Promise<Marks<K>>;
  /** How many entries of this part come before a place in the whole list. */
  rank(place: K): Promise<number>;
}

/** Which entries to name: every `stride`-th after the first `offset`, `limit` of them. */
export interface Steps {
  offset: number;
  stride: number;
  limit: number;
}

export interface Marks<K> {
  marks: K[];
  /** All entries of the part. */
  total: number;
}

interface Needs<E extends K, K> {
  parts: Part<E, K>[];
  compare(a: K, b: K): number;
  ask: AskAll;
  /** Kept from one list to the next: parts are seldom alike. */
  shares?: PageShares;
  depth?: Depth;
}

interface Depth {
  /** How many entries before a page are simply fetched with it. */
  shallow: number;
  /** How many places each part names in one round. */
  marks: number;
  /** A guess that is as close before the page as that is good enough. */
  near: number;
}

const usualDepth: Depth = {shallow: 300, marks: 1000, near: 60};

/** Each costs one question to all parts. Parts that grow alike need two. */
const maxGuesses = 4;

/** Each takes the distance to a page down to the `parts / marks`-th of it; parts that fall silent add some. */
const maxRounds = 20;

export const readMerged = async <E extends K, K>(
  {parts, compare, ask, shares = createPageShares(), depth = usualDepth}: Needs<E, K>,
  {limit, offset}: Page,
): Promise<Gathered<{entries: E[]; total: number}>> => {
  const unreachable: string[] = [];
  /** The parts that have answered so far, each with how many of its entries come before one place that is the same for all. */
  let cut = parts.map(part => ({nodeId: part.nodeId, part, start: 0}));
  const distance = () => Math.max(0, offset - sum(cut.map(({start}) => start)));

  const askCut = async <T>(question: (one: (typeof cut)[number]) => Promise<T>) => {
    const asked = await ask(cut, question);
    unreachable.push(...asked.unreachable);
    cut = asked.answers.map(({from}) => from);
    return asked.answers;
  };

  /**
   * Moves the cut towards the page by where the first part would have it, were all parts alike. Marks find every page whatever
   * the parts are like, but for each of them all that they are taken from is walked.
   */
  const guess = async (before: number): Promise<void> => {
    let wanted = Math.max(0, Math.floor((before - depth.near / 2) / cut.length));
    let best = {left: before, cut};
    for (let guesses = 0; guesses < maxGuesses && cut.length > 1; guesses += 1) {
      const [first] = cut as [(typeof cut)[number]];
      const skipped = first.start + wanted;
      const {answers, unreachable: silent} = await ask([first], async ({part}) =>
        part.marks({offset: skipped, stride: 1, limit: 1}),
      );
      const place = answers[0]?.answer.marks[0];
      // A part that is silent is found to be so by the questions to all.
      if (silent.length > 0 || place === undefined) break;
      const ranks = await askCut(async ({part}) => part.rank(place));
      // Without a part that has fallen silent, the page lies further down in the others.
      if (distance() !== before) return;
      const found = sum(ranks.map(({answer, from}) => answer - from.start));
      const left = before - found;
      if (left >= 0 && left < best.left) best = {left, cut: ranks.map(({from, answer}) => ({...from, start: answer}))};
      if (left >= 0 && left <= depth.near) break;
      wanted = Math.max(0, Math.floor(wanted + ((left - depth.near / 2) * Math.max(1, wanted)) / Math.max(1, found)));
    }
    ({cut} = best);
  };

  /** Moves the cut towards the page. Resolves with the length of the whole list when the page lies beyond it. */
  const approach = async (before: number): Promise<number | undefined> => {
    const stride = Math.ceil(before / depth.marks);
    const marked = await askCut(async ({part, start}) => part.marks({offset: start, stride, limit: depth.marks + 1}));
    // Without a part that has fallen silent, the page lies further down in the others.
    if (distance() !== before) return undefined;
    const total = sum(marked.map(({answer}) => answer.total));
    if (offset >= total) return total;
    const place = lastMarkWithin(
      {most: before, stride},
      marked.map(({answer}) => answer.marks),
      compare,
    );
    if (place === undefined) return undefined;
    cut = (await askCut(async ({part}) => part.rank(place))).map(({from, answer}) => ({...from, start: answer}));
    return undefined;
  };

  for (let round = 0; ; round += 1) {
    const skip = distance();
    const isAlone = cut.length < 2;
    if (!isAlone && skip > depth.shallow && round === 0) {
      await guess(skip);
      if (distance() !== skip) continue;
    }
    if (!isAlone && skip > depth.shallow && round < maxRounds) {
      const total = await approach(skip);
      if (total !== undefined) return {result: {entries: [], total}, unreachable};
      continue;
    }
    const count = skip + limit;
    const listed = await askCut(async ({part, nodeId, start}) => {
      const page = isAlone ? {offset: start + skip, limit} : {offset: start, limit: shares.guess(nodeId, count, cut.length)};
      return {...(await part.list(page)), asked: page.limit};
    });
    if (distance() !== skip) continue;
    if (isAlone) return {result: joined(listed), unreachable};
    const first = await firstOf({count, compare, ask, shares}, listed);
    if ('silent' in first) {
      unreachable.push(...first.silent);
      cut = cut.filter(({nodeId}) => !first.silent.includes(nodeId));
      continue;
    }
    return {result: {...first, entries: first.entries.slice(skip)}, unreachable};
  }
};

interface Listed<E extends K, K> {
  from: {nodeId: string; part: Part<E, K>; start: number};
  /** Of at most `asked` entries. */
  answer: {entries: E[]; total: number; asked: number};
}

const joined = <E extends K, K>(listed: Listed<E, K>[]): {entries: E[]; total: number} => ({
  entries: listed.flatMap(({answer}) => answer.entries),
  total: sum(listed.map(({answer}) => answer.total)),
});

/**
 * The first `count` entries of all parts. Any of them may come from one part: who was asked for less, and may have more of them than
 * that, is asked for all. Resolves with who does not answer that.
 */
const firstOf = async <E extends K, K>(
  {count, compare, ask, shares}: {count: number; compare(a: K, b: K): number; ask: AskAll; shares: PageShares},
  listed: Listed<E, K>[],
): Promise<{entries: E[]; total: number} | {silent: string[]}> => {
  const all = joined(listed);
  const entries = all.entries.toSorted(compare).slice(0, count);
  const last = entries.length < count ? undefined : entries.at(-1);
  const isWithin = (entry: E) => last === undefined || compare(entry, last) <= 0;
  const short = listed.filter(
    ({answer}) => answer.asked < count && answer.entries.length >= answer.asked && answer.entries.every(isWithin),
  );
  if (short.length > 0) {
    const {answers, unreachable} = await ask(
      short.map(({from}) => from),
      async ({part, start}) => ({...(await part.list({offset: start, limit: count})), asked: count}),
    );
    if (unreachable.length > 0) return {silent: unreachable};
    const rest = listed.filter(one => !short.includes(one));
    return firstOf({count, compare, ask, shares}, [...rest, ...answers]);
  }
  if (last !== undefined)
    for (const {from, answer} of listed) shares.train(from.nodeId, answer.entries.filter(isWithin).length / count);
  return {entries, total: all.total};
};

/**
 * The last of the marks that certainly has at most `most` entries before it. Before the n-th mark of all parts there are at
 * most `stride × (n + parts − 1) − parts` entries: each part has one stride less one entry beyond those of its own marks that
 * come before it, and the mark is no entry before itself.
 */
export const lastMarkWithin = <K>(
  {most, stride}: {most: number; stride: number},
  marks: K[][],
  compare: (a: K, b: K) => number,
): K | undefined => {
  const sorted = marks.flat().toSorted(compare);
  const last = Math.floor((most + marks.length) / stride) - marks.length + 1;
  return sorted[Math.min(last, sorted.length) - 1];
};

const sum = (numbers: number[]): number => numbers.reduce((total, number) => total + number, 0);

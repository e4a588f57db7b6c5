// One page of a list that lies on many nodes, each of which can only list and count its own part. A page deep inside is not
// found by fetching all that comes before it: the parts first agree on a cursor shortly before the page, and are listed from there.
import type {Page} from '../../../shared/hold-filter.ts';
import type {AskAll, Gathered} from './gather.ts';

/** `K`: what entries are ordered by, which every entry `E` shows too. */
export interface Part<E extends K, K> {
  readonly nodeId: string;
  list(page: Page): Promise<{entries: E[]; total: number}>;
  samples(steps: Steps): Promise<Samples<K>>;
  /** How many entries of this part come before a cursor in the whole list. */
  positionOf(cursor: K): Promise<number>;
}

/** Which entries to name: every `stride`-th after the first `offset`, `limit` of them. Nodes of 0.5 and before ask for many. */
export interface Steps {
  offset: number;
  stride: number;
  limit: number;
}

export interface Samples<K> {
  marks: K[];
  /** All entries of the part. */
  total: number;
}

interface Needs<E extends K, K> {
  parts: Part<E, K>[];
  compare(a: K, b: K): number;
  ask: AskAll;
  /** How many entries before a page are simply fetched with it. */
  near?: number;
}

/** Parts that grow alike need two. For others each takes three quarters of what is left, or more: see `approach`. */
const maxRounds = 40;

/** How much of a step the parts share evenly, whatever they had of the last one. */
const evenly = 1 / 4;

export const readMerged = async <E extends K, K>(
  {parts, compare, ask, near = 300}: Needs<E, K>,
  {limit, offset}: Page,
): Promise<Gathered<{entries: E[]; total: number}>> => {
  const cut = createCut({parts, ask}, offset);
  const {unreachable} = cut;
  for (let round = 0; ; round += 1) {
    const left = cut.left();
    const isAlone = cut.places().length < 2;
    if (!isAlone && left > near && round < maxRounds) {
      const total = await approach(cut, compare);
      if (total !== undefined) return {result: {entries: [], total}, unreachable};
      continue;
    }
    if (isAlone) cut.move(cut.places().map(place => ({...place, start: place.start + left})));
    const skip = isAlone ? 0 : left;
    const listed = await listFirst(cut, skip + limit, compare);
    if (listed === undefined || (cut.places().length > 0 && cut.left() !== skip)) continue;
    const entries = listed.flatMap(({answer}) => answer.entries).toSorted(compare);
    const total = sum(listed.map(({answer}) => answer.total));
    return {result: {entries: entries.slice(skip, skip + limit), total}, unreachable};
  }
};

interface Place<E extends K, K> {
  nodeId: string;
  part: Part<E, K>;
  /** How many of its entries come before one cursor, the same for all parts. */
  start: number;
  /** How many of these the last step has added. */
  gained: number;
}

/** The parts that have answered so far, on their way to a page. */
const createCut = <E extends K, K>({parts, ask}: Pick<Needs<E, K>, 'parts' | 'ask'>, offset: number) => {
  const unreachable: string[] = [];
  let places = parts.map((part): Place<E, K> => ({nodeId: part.nodeId, part, start: 0, gained: 1}));
  return {
    offset,
    unreachable,
    places: () => places,
    /** How many entries lie between the cut and the page. More when a part has fallen silent: the page is further down in the others then. */
    left: () => Math.max(0, offset - sum(places.map(({start}) => start))),
    move(to: Place<E, K>[]) {
      places = to;
    },
    async ask<T>(question: (place: Place<E, K>) => Promise<T>, some = places) {
      const asked = await ask(some, question);
      unreachable.push(...asked.unreachable);
      places = places.filter(({nodeId}) => !asked.unreachable.includes(nodeId));
      return asked.answers;
    },
  };
};

type Cut<E extends K, K> = ReturnType<typeof createCut<E, K>>;

/**
 * Moves the cut towards the page, and never beyond it: each part names the entry behind its share of the way, and before the first of the
 * named entries no part has more than its share. The share is what a part had of the last step, for the most: parts are seldom alike.
 * Resolves with the length of the whole list when the page lies beyond it.
 */
const approach = async <E extends K, K>(cut: Cut<E, K>, compare: (a: K, b: K) => number): Promise<number | undefined> => {
  const [left, parts] = [cut.left(), cut.places().length];
  const gains = sum(cut.places().map(({gained}) => gained));
  const named = await cut.ask(async ({part, start, gained}) => {
    const share = left * (evenly / parts + (1 - evenly) * (gained / gains));
    return part.samples({offset: start + Math.floor(share), stride: 1, limit: 1});
  });
  const [first] = named.flatMap(({answer}) => answer.marks).toSorted(compare);
  const total = sum(named.map(({answer}) => answer.total));
  if (total <= cut.offset) return total;
  if (first !== undefined) {
    const positions = await cut.ask(async ({part}) => part.positionOf(first));
    cut.move(positions.map(({from, answer}) => ({...from, start: answer, gained: Math.max(1, answer - from.start)})));
  }
  return undefined;
};

/**
 * The first `count` entries behind the cut. Any of them may be of one part, but nearly always each has about its share: a part that may
 * have more is asked again. Undefined when that falls silent.
 */
const listFirst = async <E extends K, K>(cut: Cut<E, K>, count: number, compare: (a: K, b: K) => number) => {
  const even = count / cut.places().length;
  const share = Math.min(count, Math.ceil(even + 3 * Math.sqrt(even)));
  const listed = await cut.ask(async ({part, start}) => part.list({offset: start, limit: share}));
  const last = listed.flatMap(({answer}) => answer.entries).toSorted(compare)[count - 1];
  const short = listed.filter(({answer: {entries}}) => {
    const end = entries[share - 1];
    return share < count && end !== undefined && (last === undefined || compare(end, last) <= 0);
  });
  const again = await cut.ask(
    async ({part, start}) => part.list({offset: start, limit: count}),
    short.map(({from}) => from),
  );
  return again.length < short.length ? undefined : [...listed.filter(one => !short.includes(one)), ...again];
};

const sum = (numbers: number[]): number => numbers.reduce((total, number) => total + number, 0);

// Reader of one page of a list that is distributed over many nodes, each of which can only list and count its own part. For a deep
// page it does not fetch everything before the page: it first finds a cursor shortly before the page and lists the parts from there.
import type {Page} from '../../../shared/hold-filter.ts';
import type {AskAll, Gathered} from './gather.ts';

/** `K`: the fields that entries are ordered by. Every entry `E` has them. */
export interface Part<E extends K, K> {
  readonly nodeId: string;
  list(page: Page): Promise<{entries: E[]; total: number}>;
  samples(steps: Steps): Promise<Samples<K>>;
  /** How many entries of this part come before a cursor in the whole list. */
  positionOf(cursor: K): Promise<number>;
}

/** The entries to sample: every `stride`-th after the first `offset`, at most `limit`. Nodes up to 0.5 request many. */
export interface Steps {
  offset: number;
  stride: number;
  limit: number;
}

export interface Samples<K> {
  marks: K[];
  /** The number of all entries of the part. */
  total: number;
}

interface Needs<E extends K, K> {
  parts: Part<E, K>[];
  compare(a: K, b: K): number;
  ask: AskAll;
  /** A page with at most so many entries before it is read by fetching these too. */
  near?: number;
}

/** Evenly distributed parts need two rounds. Others cover at least three quarters of the rest in each round, see `approach`. */
const maxRounds = 40;

/** The fraction of a step that is divided evenly among the parts, whatever their shares of the last step were. */
const evenly = 1 / 4;

export const readMerged = async <E extends K, K>(
  {parts, compare, ask, near = 300}: Needs<E, K>,
  {limit, offset}: Page,
): Promise<Gathered<{entries: E[]; total: number}>> => {
  const cut = createCut({parts, ask}, offset);
  const {unreachable} = cut;
  for (let round = 0; ; round += 1) {
    const left = cut.left();
    const isAlone = cut.positions().length < 2;
    if (!isAlone && left > near && round < maxRounds) {
      const total = await approach(cut, compare);
      if (total !== undefined) return {result: {entries: [], total}, unreachable};
      continue;
    }
    if (isAlone) cut.move(cut.positions().map(position => ({...position, start: position.start + left})));
    const skip = isAlone ? 0 : left;
    const listed = await listFirst(cut, skip + limit, compare);
    if (listed === undefined || (cut.positions().length > 0 && cut.left() !== skip)) continue;
    const entries = listed.flatMap(({answer}) => answer.entries).toSorted(compare);
    const total = sum(listed.map(({answer}) => answer.total));
    return {result: {entries: entries.slice(skip, skip + limit), total}, unreachable};
  }
};

interface PartPosition<E extends K, K> {
  nodeId: string;
  part: Part<E, K>;
  /** How many entries of the part come before the cut. The cut is one cursor for all parts. */
  start: number;
  /** By how much the last step increased `start`. */
  gained: number;
}

/** The cut: the parts that have answered so far, with their positions on the way to the page. */
const createCut = <E extends K, K>({parts, ask}: Pick<Needs<E, K>, 'parts' | 'ask'>, offset: number) => {
  const unreachable: string[] = [];
  let positions = parts.map((part): PartPosition<E, K> => ({nodeId: part.nodeId, part, start: 0, gained: 1}));
  return {
    offset,
    unreachable,
    positions: () => positions,
    /** The number of entries between the cut and the page. Grows when a part stops answering: then more of the others come before it. */
    left: () => Math.max(0, offset - sum(positions.map(({start}) => start))),
    move(to: PartPosition<E, K>[]) {
      positions = to;
    },
    async ask<T>(question: (position: PartPosition<E, K>) => Promise<T>, some = positions) {
      const asked = await ask(some, question);
      unreachable.push(...asked.unreachable);
      positions = positions.filter(({nodeId}) => !asked.unreachable.includes(nodeId));
      return asked.answers;
    },
  };
};

type Cut<E extends K, K> = ReturnType<typeof createCut<E, K>>;

/**
 * Moves the cut towards the page, and never beyond it: each part returns the entry after its share of the way, and no part has more
 * than its share before the first of these entries. A part's share mostly follows its share of the last step, as parts differ in density.
 * Resolves with the length of the whole list if the page lies beyond its end.
 */
const approach = async <E extends K, K>(cut: Cut<E, K>, compare: (a: K, b: K) => number): Promise<number | undefined> => {
  const [left, parts] = [cut.left(), cut.positions().length];
  const gains = sum(cut.positions().map(({gained}) => gained));
  const sampled = await cut.ask(async ({part, start, gained}) => {
    const share = left * (evenly / parts + (1 - evenly) * (gained / gains));
    return part.samples({offset: start + Math.floor(share), stride: 1, limit: 1});
  });
  const [first] = sampled.flatMap(({answer}) => answer.marks).toSorted(compare);
  const total = sum(sampled.map(({answer}) => answer.total));
  if (total <= cut.offset) return total;
  if (first !== undefined) {
    const positions = await cut.ask(async ({part}) => part.positionOf(first));
    cut.move(positions.map(({from, answer}) => ({...from, start: answer, gained: Math.max(1, answer - from.start)})));
  }
  return undefined;
};

/**
 * Lists the first `count` entries after the cut. All of them could be in one part, but nearly always each part has about its share, so
 * only a part that may have more is asked again. Undefined if such a part stops answering.
 */
const listFirst = async <E extends K, K>(cut: Cut<E, K>, count: number, compare: (a: K, b: K) => number) => {
  const even = count / cut.positions().length;
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

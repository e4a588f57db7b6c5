// Response time of a list, and lists per second of a cluster, for large stores and for all kinds of queries.
import {alternate, timed} from './alternate.ts';
import {heldInPostfixMissing, startHeldInPostfix} from './anchors/held-in-postfix.ts';
import type {Bench, BenchContext} from './bench.ts';
import {type ListedCluster, startListedCluster} from './listed-cluster.ts';
import type {Lister} from './lister.ts';
import {filtersTogether, measureQueries, nodeFilter, singleFilters, subjectFilters} from './lists-filters.ts';
import {quantilesOf} from './quantiles.ts';

const clients = 8;

export const lists: Bench = {
  name: 'lists',
  seconds: 120,
  rows: [
    {name: 'list', title: '100 newest of 10,000 on 3 nodes, p50', anchor: 'postqueue -j | jq', wanted: {atMost: 0.02}, unit: '×'},
    {name: 'list-million', title: 'the same of 1,000,000, p50', anchor: 'our own 10,000', wanted: {atMost: 1.5}, unit: '×'},
    {
      name: 'filters',
      title: 'any single filter with its count of 1,000,000, the slowest, p50',
      anchor: '',
      wanted: {atMost: 60},
      unit: 'ms',
    },
    {
      name: 'filters-together',
      title: 'several filters together, and shorter subjects, the slowest, p50',
      anchor: '',
      wanted: {atMost: 500},
      unit: 'ms',
    },
    {name: 'offset', title: 'offset 100,000 of 1,000,000, p50', anchor: '', wanted: {atMost: 150}, unit: 'ms'},
  ],

  async run(context) {
    const {owner, isQuick, isWanted} = context;
    const newestMs = Date.now();
    const asksLarge = ['list-million', 'filters', 'filters-together', 'offset'].some(isWanted);
    const [small, large] = await Promise.all([
      startListedCluster(owner, {size: 10_000, newestMs}),
      asksLarge ? startListedCluster(owner, {size: isQuick ? 60_000 : 1_000_000, newestMs}) : undefined,
    ]);
    context.say('the nodes are filled');
    if (isWanted('list')) await measureList(context, small);
    if (large && isWanted('list-million')) await measureMillion(context, 'list-million', {small, large});
    if (large) {
      const list = listerOf(large);
      await measureQueries(context, 'filters', {list, queries: {...singleFilters, ...subjectFilters, ...nodeFilter(large)}});
      await measureQueries(context, 'filters-together', {list, queries: filtersTogether});
    }
    if (large && isWanted('offset')) await measureOffset(context, large);
  },
};

export const listerOf = ({listers}: {listers: Lister[]}): Lister => listers[0] as Lister;
export const ms = (value: number): string => `${value.toFixed(2)} ms`;

/** V8 optimises code that runs often: after a few thousand lists a node needs two thirds of the time for one. */
export const warm = async ({listers}: ListedCluster, isQuick: boolean): Promise<unknown> =>
  listsASecond(listers, isQuick ? 1 : 6);

const measureList = async ({isQuick, owner, report}: BenchContext, small: ListedCluster): Promise<void> => {
  const list = listerOf(small);
  const ownP50 = async () => {
    const some: number[] = [];
    for (let n = 0; n < (isQuick ? 30 : 60); n += 1) some.push(await timed(list));
    return quantilesOf(some).p50;
  };
  const missing = heldInPostfixMissing();
  const postfix = missing === undefined ? await startHeldInPostfix(owner, small.size) : undefined;
  await warm(small, isQuick);
  const figures = await alternate(
    {own: ownP50, anchor: async () => (postfix ? timed(postfix.newest) : Number.NaN)},
    {rounds: isQuick ? 5 : 10},
  );
  const [own, anchor] = [quantilesOf(figures.own).p50, quantilesOf(figures.anchor).p50];
  report('list', missing === undefined ? {value: own / anchor, own: ms(own), anchor: ms(anchor)} : {missing});
};

/** Each client uses one node only. */
const listsASecond = async (listers: Lister[], seconds: number): Promise<number> => {
  let count = 0;
  const startedAt = performance.now();
  const client = async (_: unknown, n: number) => {
    const list = listers[n % listers.length] as Lister;
    for (; performance.now() - startedAt < seconds * 1000; count += 1) await list();
  };
  await Promise.all(Array.from({length: clients}, client));
  return count / ((performance.now() - startedAt) / 1000);
};

/** Of a million mails, beside ten thousand. */
export const measureMillion = async (
  {isQuick, report}: BenchContext,
  row: string,
  {small, large}: {small: ListedCluster; large: ListedCluster},
): Promise<void> => {
  const [own, anchor] = [listerOf(large), listerOf(small)];
  await requireTotal(own, large.size);
  for (const cluster of [large, small]) await warm(cluster, isQuick);
  const figures = await alternate(
    {own: async () => timed(own), anchor: async () => timed(anchor)},
    {rounds: isQuick ? 60 : 400, warmUps: 20},
  );
  const p50 = {own: quantilesOf(figures.own).p50, anchor: quantilesOf(figures.anchor).p50};
  report(row, {value: p50.own / p50.anchor, own: ms(p50.own), anchor: ms(p50.anchor)});
};

const requireTotal = async (list: Lister, wanted: number): Promise<void> => {
  const {total} = await list();
  if (total !== wanted) throw new Error(`${total} mails are listed, not ${wanted}`);
};

const measureOffset = async ({isQuick, report}: BenchContext, large: ListedCluster): Promise<void> => {
  const list = listerOf(large);
  const deep = large.size / 10;
  const times: number[] = [];
  // Every request reads another page.
  for (let round = -5; round < (isQuick ? 20 : 60); round += 1) {
    const took = await timed(async () => list(`limit=100&offset=${deep + (round + 5) * 100}`));
    if (round >= 0) times.push(took);
  }
  const own = quantilesOf(times);
  report('offset', {value: own.p50, own: `p99 ${ms(own.p99)}`});
};

import test from 'ava';
import fc from 'fast-check';
import {createAskAll} from '../../../../daemon/services/peers/gather.ts';
import {type Part, readMerged} from '../../../../daemon/services/peers/merged-list.ts';
import {Fault} from '../../../../shared/fault.ts';

interface Entry {
  at: number;
  node: string;
  seq: number;
}

const compare = (a: Entry, b: Entry): number => b.at - a.at || (a.node < b.node ? -1 : Number(a.node > b.node)) || b.seq - a.seq;

const names = ['alpha', 'beta', 'delta', 'gamma', 'omega'];

/** Times on each node; few distinct ones, so that many are equal. */
const clusters = fc.array(fc.array(fc.integer({min: 0, max: 12}), {maxLength: 60}), {minLength: 1, maxLength: 5}).map(nodes =>
  nodes.map((times, index) => {
    const node = names[index] ?? '';
    return {node, entries: times.map((at, seq) => ({at, node, seq})).toSorted(compare)};
  }),
);

interface Asked {
  /** The largest number of entries requested from a node at once. */
  most: number;
  questions: number;
}

/** A node's part, which stops answering at its `failsAt`-th request. */
const partOf = ({node, entries}: {node: string; entries: Entry[]}, asked: Asked, failsAt?: number): Part<Entry, Entry> => {
  let questions = 0;
  const answering = <T>(answer: () => T): T => {
    questions += 1;
    asked.questions += 1;
    if (failsAt !== undefined && questions >= failsAt) throw new Fault('node_unreachable', node);
    return answer();
  };
  return {
    nodeId: node,
    list: async ({offset, limit}) =>
      answering(() => {
        asked.most = Math.max(asked.most, limit);
        return {entries: entries.slice(offset, offset + limit), total: entries.length};
      }),
    samples: async ({offset, stride, limit}) =>
      answering(() => {
        const marks = entries.slice(offset).filter((_, index) => (index + 1) % stride === 0);
        return {marks: marks.slice(0, limit), total: entries.length};
      }),
    positionOf: async cursor => answering(() => entries.filter(entry => compare(entry, cursor) < 0).length),
  };
};

const near = 5;

test('a page is the same as of one sorted list, however deep it lies', async t => {
  await fc.assert(
    fc.asyncProperty(clusters, fc.nat(320), fc.integer({min: 1, max: 60}), async (nodes, offset, limit) => {
      const asked = {most: 0, questions: 0};
      const parts = nodes.map(node => partOf(node, asked));

      const {result, unreachable} = await readMerged(
        {parts, compare, ask: createAskAll({onSilent: () => {}}), near},
        {limit, offset},
      );

      const all = nodes.flatMap(({entries}) => entries).toSorted(compare);
      t.deepEqual(result.entries, all.slice(offset, offset + limit));
      t.is(result.total, all.length);
      t.deepEqual(unreachable, []);
      if (nodes.length > 1) t.true(asked.most <= near + limit, `${asked.most} entries asked of one node`);
    }),
    {numRuns: 2000},
  );
});

test('a node that falls silent at any question is named, and the page is that of the others', async t => {
  await fc.assert(
    fc.asyncProperty(
      clusters,
      fc.array(fc.option(fc.integer({min: 1, max: 6}))),
      fc.nat(320),
      async (nodes, failures, offset) => {
        const parts = nodes.map((node, index) => partOf(node, {most: 0, questions: 0}, failures[index] ?? undefined));

        const {result, unreachable} = await readMerged(
          {parts, compare, ask: createAskAll({onSilent: () => {}}), near},
          {limit: 30, offset},
        );

        const left = nodes.filter(({node}) => !unreachable.includes(node));
        const all = left.flatMap(({entries}) => entries).toSorted(compare);
        t.deepEqual(result.entries, all.slice(offset, offset + 30));
        t.is(result.total, all.length);
        t.true(nodes.every(({node}, index) => left.some(one => one.node === node) || (failures[index] ?? null) !== null));
      },
    ),
    {numRuns: 2000},
  );
});

/** A part of `count` entries with the times that `timeOf` gives for their positions, ascending: none of them is stored. */
const computedPart = (
  {node, count, timeOf}: {node: string; count: number; timeOf(position: number): number},
  asked: Asked,
): Part<Entry, Entry> => {
  const entryAt = (position: number): Entry => ({at: -timeOf(position), node, seq: 0});
  const slice = (from: number, to: number) =>
    Array.from({length: Math.max(0, Math.min(to, count) - from)}, (_, at) => entryAt(from + at));
  return {
    nodeId: node,
    async list({offset, limit}) {
      asked.questions += 1;
      asked.most = Math.max(asked.most, limit);
      return {entries: slice(offset, offset + limit), total: count};
    },
    async samples({offset, stride, limit}) {
      asked.questions += 1;
      asked.most = Math.max(asked.most, limit);
      const positions = Array.from({length: limit}, (_, at) => offset + stride * (at + 1) - 1).filter(at => at < count);
      return {marks: positions.map(entryAt), total: count};
    },
    async positionOf(cursor) {
      asked.questions += 1;
      let [low, high] = [0, count];
      while (low < high) {
        const middle = Math.floor((low + high) / 2);
        if (compare(entryAt(middle), cursor) < 0) low = middle + 1;
        else high = middle;
      }
      return low;
    },
  };
};

/** Three nodes with different arrival patterns, and how many rounds a deep page may cost: two requests to each node. */
const arrivals: [title: string, parts: {count: number; timeOf(position: number): number}[], offset: number, maxRounds: number][] =
  [
    ['alike', [0, 1, 2].map(first => ({count: 400_000, timeOf: n => n * 3 + first})), 1_000_000, 3],
    ['until one after the other ended', [200_000, 400_000, 600_000].map(count => ({count, timeOf: n => n})), 1_000_000, 9],
    ['on one node for the most', [1, 10, 100].map(every => ({count: 1_000_000 / every, timeOf: n => n * every})), 100_000, 6],
    ['one node after the other', [0, 1, 2].map(turn => ({count: 400_000, timeOf: n => turn * 400_000 + n})), 900_000, 12],
    ['on one node alone', [1_000_000, 0, 0].map(count => ({count, timeOf: n => n})), 500_000, 8],
  ];

for (const [title, counts, offset, maxRounds] of arrivals)
  test(`a deep page costs each node few entries and few rounds where mail arrived ${title}`, async t => {
    const asked = {most: 0, questions: 0};
    const nodes = counts.map((part, index) => ({...part, node: names[index] ?? ''}));
    const parts = nodes.map(node => computedPart(node, asked));

    const {result} = await readMerged({parts, compare, ask: createAskAll({onSilent: () => {}})}, {limit: 100, offset});

    const all = nodes
      .flatMap(({node, count, timeOf}) => Array.from({length: count}, (_, n): Entry => ({at: -timeOf(n), node, seq: 0})))
      .toSorted(compare);
    t.deepEqual(result.entries, all.slice(offset, offset + 100));
    t.is(result.total, all.length);
    t.true(asked.most <= 400, `${asked.most} entries asked of one node`);
    t.true(asked.questions <= parts.length * (2 * maxRounds + 1), `${asked.questions} questions`);
  });

test('nodes are asked for about their share of a page, and those that may have more for all of it', async t => {
  const askedOf = async (...counts: number[]) => {
    const asked: number[] = [];
    const parts = counts.map((count, index) => {
      const part = computedPart({node: names[index] ?? '', count, timeOf: n => n}, {most: 0, questions: 0});
      return {
        ...part,
        async list(page: {offset: number; limit: number}) {
          asked.push(page.limit);
          return part.list(page);
        },
      };
    });
    const {result} = await readMerged({parts, compare, ask: createAskAll({onSilent: () => {}})}, {limit: 99, offset: 0});
    t.is(result.entries.length, 99);
    return asked;
  };

  t.deepEqual(await askedOf(500, 500, 500), [51, 51, 51]);
  t.deepEqual(await askedOf(500, 2, 2), [51, 51, 51, 99]);
  t.deepEqual(await askedOf(500), [99]);
});

test('a node that falls silent when it is asked for more of a page is named, and the page is that of the others', async t => {
  const entriesOf = (node: string, newest: number) =>
    Array.from({length: 200}, (_, n): Entry => ({at: newest - n, node, seq: 0}));
  const nodes = [
    {node: 'alpha', entries: entriesOf('alpha', 9000)},
    {node: 'beta', entries: entriesOf('beta', 5000)},
    {node: 'gamma', entries: entriesOf('gamma', 1000)},
  ];
  const parts = nodes.map(node => partOf(node, {most: 0, questions: 0}, node.node === 'alpha' ? 2 : undefined));

  const {result, unreachable} = await readMerged(
    {parts, compare, ask: createAskAll({onSilent: () => {}})},
    {limit: 99, offset: 0},
  );

  t.deepEqual(unreachable, ['alpha']);
  t.deepEqual(result, {entries: entriesOf('beta', 5000).slice(0, 99), total: 400});
});

test('a page beyond the end of the list is empty, after one question to each node', async t => {
  const asked = {most: 0, questions: 0};
  const parts = ['alpha', 'beta'].map(node => computedPart({node, count: 1000, timeOf: n => n}, asked));

  const {result} = await readMerged({parts, compare, ask: createAskAll({onSilent: () => {}})}, {limit: 100, offset: 2000});

  t.deepEqual(result, {entries: [], total: 2000});
  t.is(asked.questions, 2);
});

test('nodes whose answers contradict each other are asked a limited number of times', async t => {
  const asked = {most: 0, questions: 0};
  const parts = ['alpha', 'beta'].map(node => ({
    ...computedPart({node, count: 2 ** 40, timeOf: n => n}, asked),
    positionOf: async () => 0,
  }));

  await readMerged({parts, compare, ask: createAskAll({onSilent: () => {}})}, {limit: 10, offset: 10_000});

  t.true(asked.questions <= 100, `${asked.questions} questions`);
});

test('what is no fault of another node is no silence: it is thrown', async t => {
  const ask = createAskAll({onSilent: () => t.fail()});
  const asked = [{nodeId: 'alpha'}, {nodeId: 'beta'}];

  await t.throwsAsync(
    ask(asked, async () => Promise.reject(new TypeError('a bug'))),
    {instanceOf: TypeError},
  );
  await t.throwsAsync(
    ask(asked, async () => Promise.reject(new Fault('key_revoked', 'revoked'))),
    {instanceOf: Fault},
  );
});

test('a node that stays silent is told of once, and again after it has answered', async t => {
  const told: string[] = [];
  const ask = createAskAll({onSilent: nodeId => told.push(nodeId)});
  const answer = async (isSilent: boolean) =>
    ask([{nodeId: 'beta'}], async () => {
      if (isSilent) throw new Fault('unavailable', 'no room');
    });

  for (const isSilent of [true, true, false, true]) await answer(isSilent);

  t.deepEqual(told, ['beta', 'beta']);
});

test('a node that has been away for long is named without being asked', async t => {
  const ask = createAskAll({onSilent: () => {}, isAway: nodeId => nodeId === 'beta'});
  const asked: string[] = [];

  const {answers, unreachable} = await ask([{nodeId: 'alpha'}, {nodeId: 'beta'}], async ({nodeId}) => asked.push(nodeId));

  t.deepEqual(asked, ['alpha']);
  t.is(answers.length, 1);
  t.deepEqual(unreachable, ['beta']);
});

import test from 'ava';
import fc from 'fast-check';
import {createAskAll} from '../../../../daemon/services/quarantine/gather.ts';
import {lastMarkWithin, type Part, readMerged} from '../../../../daemon/services/quarantine/merged-list.ts';
import {createPageShares, type PageShares} from '../../../../daemon/services/quarantine/page-shares.ts';
import {Fault} from '../../../../shared/fault.ts';

interface Entry {
  at: number;
  node: string;
  seq: number;
}

const compare = (a: Entry, b: Entry): number => b.at - a.at || (a.node < b.node ? -1 : Number(a.node > b.node)) || b.seq - a.seq;

const names = ['alpha', 'beta', 'delta', 'gamma', 'omega'];

/** Times on each node; few of them, so that many are the same. */
const clusters = fc.array(fc.array(fc.integer({min: 0, max: 12}), {maxLength: 60}), {minLength: 1, maxLength: 5}).map(nodes =>
  nodes.map((times, index) => {
    const node = names[index] ?? '';
    return {node, entries: times.map((at, seq) => ({at, node, seq})).toSorted(compare)};
  }),
);

interface Asked {
  /** The most entries any node was asked for at once. */
  most: number;
  questions: number;
}

/** A node's part, which falls silent at its `failsAt`-th question. */
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
    marks: async ({offset, stride, limit}) =>
      answering(() => {
        const marks = entries.slice(offset).filter((_, index) => (index + 1) % stride === 0);
        return {marks: marks.slice(0, limit), total: entries.length};
      }),
    rank: async place => answering(() => entries.filter(entry => compare(entry, place) < 0).length),
  };
};

/** How many entries each node is asked for first: right or wrong, it changes nothing of what is answered. */
const guesses = fc.array(fc.integer({min: 1, max: 25}), {minLength: 5, maxLength: 5});

const sharesOf = (guessed: number[]): PageShares => ({
  guess: (nodeId, count) => Math.min(count, guessed[names.indexOf(nodeId)] ?? count),
  train() {},
});

const depth = {shallow: 5, marks: 10, near: 2};

test('a page is the same as of one sorted list, however deep it lies', async t => {
  await fc.assert(
    fc.asyncProperty(clusters, fc.nat(320), fc.integer({min: 1, max: 20}), guesses, async (nodes, offset, limit, guessed) => {
      const asked = {most: 0, questions: 0};
      const shares = sharesOf(guessed);
      const parts = nodes.map(node => partOf(node, asked));

      const {result, unreachable} = await readMerged(
        {parts, compare, ask: createAskAll({onSilent: () => {}}), shares, depth},
        {limit, offset},
      );

      const all = nodes.flatMap(({entries}) => entries).toSorted(compare);
      t.deepEqual(result.entries, all.slice(offset, offset + limit));
      t.is(result.total, all.length);
      t.deepEqual(unreachable, []);
      if (nodes.length > 1) t.true(asked.most <= depth.shallow + limit, `${asked.most} entries asked of one node`);
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
      guesses,
      async (nodes, failures, offset, guessed) => {
        const shares = sharesOf(guessed);
        const parts = nodes.map((node, index) => partOf(node, {most: 0, questions: 0}, failures[index] ?? undefined));

        const {result, unreachable} = await readMerged(
          {parts, compare, ask: createAskAll({onSilent: () => {}}), shares, depth},
          {limit: 7, offset},
        );

        const left = nodes.filter(({node}) => !unreachable.includes(node));
        const all = left.flatMap(({entries}) => entries).toSorted(compare);
        t.deepEqual(result.entries, all.slice(offset, offset + 7));
        t.is(result.total, all.length);
        t.true(nodes.every(({node}, index) => left.some(one => one.node === node) || (failures[index] ?? null) !== null));
      },
    ),
    {numRuns: 2000},
  );
});

test('a page a million entries down costs each node a few thousand entries and a few rounds', async t => {
  const nodes = ['alpha', 'beta', 'gamma'].map((node, index) => ({node, count: 200_000 * (index + 1)}));
  const asked = {most: 0, questions: 0};
  // Every third moment belongs to one node, until it has no more: positions can be computed instead of stored.
  const parts = nodes.map(({node, count}, index) => {
    const entryAt = (position: number): Entry => ({at: -(position * 3 + index), node, seq: 0});
    const slice = (from: number, to: number) =>
      Array.from({length: Math.max(0, Math.min(to, count) - from)}, (_, at) => entryAt(from + at));
    const part: Part<Entry, Entry> = {
      nodeId: node,
      async list({offset, limit}) {
        asked.questions += 1;
        asked.most = Math.max(asked.most, limit);
        return {entries: slice(offset, offset + limit), total: count};
      },
      async marks({offset, stride, limit}) {
        asked.questions += 1;
        const positions = Array.from({length: limit}, (_, at) => offset + stride * (at + 1) - 1).filter(at => at < count);
        return {marks: positions.map(entryAt), total: count};
      },
      async rank({at}) {
        asked.questions += 1;
        return Math.max(0, Math.min(count, Math.ceil((-at - index) / 3)));
      },
    };
    return part;
  });

  const {result} = await readMerged({parts, compare, ask: createAskAll({onSilent: () => {}})}, {limit: 100, offset: 1_000_000});

  // By then alpha has ended after 600,000 of all and beta after 1,000,000.
  t.is(result.entries.length, 100);
  t.is(result.entries[0]?.node, 'gamma');
  t.is(result.entries[0]?.at, -((1_000_000 - 600_000) * 3 + 2));
  t.is(result.total, 1_200_000);
  t.true(asked.most <= 1100);
  t.true(asked.questions <= 3 * 9, `${asked.questions} questions`);
});

test('nodes are asked for what they are likely to have of a page, as the pages before it show', async t => {
  const shares = createPageShares();
  const list = async (counts: number[]) => {
    const asked: number[] = [];
    const parts = counts.map((count, index) => {
      const node = names[index] ?? '';
      const entries = Array.from({length: count}, (_, seq) => ({at: seq, node, seq})).toSorted(compare);
      const part = partOf({node, entries}, {most: 0, questions: 0});
      return {
        ...part,
        async list(page: {offset: number; limit: number}) {
          asked.push(page.limit);
          return part.list(page);
        },
      };
    });
    const {result} = await readMerged({parts, compare, ask: createAskAll({onSilent: () => {}}), shares}, {limit: 99, offset: 0});
    t.is(result.entries.length, 99);
    return asked;
  };

  const alike = await list([500, 500, 500]);
  const backup = await list([500, 2, 2]);
  for (let n = 0; n < 9; n += 1) await list([500, 2, 2]);
  const known = await list([500, 2, 2]);

  t.deepEqual(alike, [50, 50, 50]);
  t.deepEqual(backup, [50, 50, 50, 99]);
  t.deepEqual(known, [99, 3, 3]);
});

test('the mark that is chosen never has more entries before it than allowed', t => {
  fc.assert(
    fc.property(clusters, fc.integer({min: 1, max: 9}), fc.nat(200), (nodes, stride, most) => {
      const marks = nodes.map(({entries}) => entries.filter((_, index) => (index + 1) % stride === 0));

      const mark = lastMarkWithin({most, stride}, marks, compare);

      const all = nodes.flatMap(({entries}) => entries);
      if (mark) t.true(all.filter(entry => compare(entry, mark) < 0).length <= most);
      // Something is gained whenever there is enough to be skipped.
      else t.true(most < stride * nodes.length || marks.flat().length === 0);
    }),
    {numRuns: 2000},
  );
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

import test from 'ava';
import fc from 'fast-check';
import {
  initialList,
  type List,
  type ListEvent,
  type ListState,
  listReducer,
  placedAt,
  settled,
  shownRows,
} from '../../../../cli/dashboard/list/list.ts';
import {showList} from '../../../../cli/dashboard/list/list-lines.ts';
import {hasWords} from '../../../../cli/dashboard/list/list-query.ts';
import {moved} from '../../../../cli/dashboard/list/list-window.ts';
import {CliError} from '../../../../cli/errors.ts';
import {hostile} from '../../../helpers/cli/sample-records.ts';
import {drawnList, fits, sizes} from '../../../helpers/dashboard/drawn.ts';

interface Row {
  name: string;
  size: number;
}

const size = {columns: 60, rows: 7};
const named = (...names: string[]): Row[] => names.map((name, at) => ({name, size: names.length - at}));
const listOf = (rows: readonly Row[] | undefined, change: Partial<List<Row>> = {}): List<Row> => ({
  rows,
  keyOf: ({name}) => name,
  columns: () => [{title: 'NAME', cell: ({name}) => name, width: 10, grow: 1}],
  head: shown => ['Rows', String(shown.length)],
  matches: ({name}, {words}) => hasWords([name], words),
  hint: 'words',
  empty: ['no rows'],
  ...change,
});

/** The state after keys, as the list's screen computes it. */
const after = (list: List<Row>, keys: readonly string[], start: ListState = initialList): ListState =>
  keys.reduce((state, key) => {
    const {rows, count, position, height} = showList(list, state, {size, nowMs: 0});
    const to = moved(position, key, {count, height});
    return to ? listReducer(state, placedAt(list, rows, to)) : state;
  }, start);

/** The state once the list has been rendered. */
const drawn = (list: List<Row>, state: ListState): ListState => {
  const event = settled(list, state, shownRows(list, state));
  return event ? listReducer(state, event) : state;
};
const under = (list: List<Row>, state: ListState): string | undefined => showList(list, state, {size, nowMs: 0}).row?.name;
const tail = {isPaused: false, waiting: []};
const letters = (count: number, from = 0): string[] => Array.from({length: count}, (_, at) => `row-${from + at}`);

test('the row under the cursor keeps its line, whatever comes above it', t => {
  fc.assert(
    fc.property(fc.integer({min: 1, max: 19}), fc.integer({min: 0, max: 20}), fc.boolean(), (steps, more, isTail) => {
      const kind = isTail ? {tail} : {};
      const before = listOf(named(...letters(20)), kind);
      const state = after(
        before,
        Array.from({length: steps}, () => 'j'),
      );
      const grown = listOf(named(...letters(more, 100), ...letters(20)), kind);

      const [was, is] = [before, grown].map(list => showList(list, state, {size, nowMs: 0}).position);

      t.is(under(grown, state), `row-${steps}`);
      t.is((is?.cursor ?? 0) - (is?.top ?? 0), (was?.cursor ?? 0) - (was?.top ?? 0));
    }),
  );
});

test('at the top of a tail the cursor stays with the newest, in any other list on its row', t => {
  const [before, grown] = [named('b', 'c'), named('a', 'b', 'c')];

  const isFollowing = after(listOf(before, {tail}), ['j', 'k']);
  const isOnRow = after(listOf(before), ['j', 'k']);

  t.is(under(listOf(grown, {tail}), isFollowing), 'a');
  t.is(under(listOf(grown), isOnRow), 'b');
});

test('the cursor stays on its row in another order', t => {
  const orders = [
    {name: 'name', compare: (a: Row, b: Row) => a.name.localeCompare(b.name)},
    {name: 'size', compare: (a: Row, b: Row) => a.size - b.size},
  ];
  const list = listOf(named('a', 'b', 'c'), {orders});
  const state = after(list, ['G']);

  const sorted = listReducer(state, {kind: 'sorted', order: 1});

  t.deepEqual(
    shownRows(list, sorted).map(({name}) => name),
    ['c', 'b', 'a'],
  );
  t.is(under(list, sorted), 'c');
});

test('a row that has gone leaves the cursor where it was, on a row that it stays on', t => {
  const state = after(listOf(named('a', 'b', 'c', 'd')), ['j']);

  const without = drawn(listOf(named('a', 'c', 'd')), state);

  t.is(under(listOf(named('a', 'c', 'd')), without), 'c');
  t.is(under(listOf(named('x', 'a', 'c', 'd')), without), 'c');
});

test('of a part, rows that have not been read have their place, and the cursor stays on its row wherever it is read', t => {
  const partOf = (offset: number, ...names: string[]) => listOf(named(...names), {part: {offset, count: 1000}});
  const far = after(partOf(0, ...letters(20)), ['G']);

  t.is(far.position.cursor, 999);
  t.is(under(partOf(0, ...letters(20)), far), undefined);
  t.is(drawnList(partOf(0, ...letters(20)), far, size).match(/^ {3}… *$/gm)?.length, 5);

  const read = drawn(partOf(990, ...letters(10)), far);
  t.is(read.cursorKey, 'row-9');
  t.is(drawn(partOf(500, ...letters(20)), read).position.cursor, 509);
});

test('a list that has less room for a moment is as it was afterwards', t => {
  const list = listOf(named(...letters(20)));
  const state = after(list, ['G']);

  const less = drawn(list, state);

  t.is(less, state);
});

test('a filter begins at the top, and a new one finds what the one before has hidden', t => {
  const list = listOf(named('anna', 'bert', 'berta'));
  const filter = (text: string): ListEvent => ({kind: 'filtered', filter: text});

  const narrow = listReducer(after(list, ['G']), filter(' bert '));

  t.is(under(list, narrow), 'bert');
  t.regex(drawnList(list, narrow, size), /^Rows · 2 · filter: bert/);
  t.regex(drawnList(list, listReducer(narrow, filter('x')), size), /Nothing matches/);
  t.is(under(list, listReducer(narrow, filter('ann'))), 'anna');
});

test('filters that were typed are remembered once, the latest last', t => {
  const filters = ['a', 'b', '', 'a'].map((filter): ListEvent => ({kind: 'filtered', filter}));

  t.deepEqual(filters.reduce(listReducer, initialList).history, ['b', 'a']);
});

test('the line above says the order and how old it is, the shorter the less room there is', t => {
  const list = listOf(named('a'), {orders: [{name: 'name', compare: () => 0}], loadedAtMs: -70_000});

  t.regex(drawnList(list, initialList, size), /^Rows · 1 +by name · read 70s ago $/m);
  t.regex(drawnList(list, initialList, {...size, columns: 25}), /^Rows · 1 +by name $/m);
});

test('the line above a tail says whether it follows, stands still, or where one is', t => {
  const rows = named('a', 'b', 'c');
  const waiting = named('x', 'a word');
  const stopped = listOf(rows, {tail: {isPaused: true, waiting}});

  t.regex(drawnList(listOf(rows, {tail}), initialList, size), /▸ following $/m);
  t.regex(drawnList(listOf(rows, {tail}), after(listOf(rows, {tail}), ['j']), size), / 2 of 3 $/m);
  t.regex(drawnList(stopped, initialList, size), /paused, 2 new $/m);
  t.regex(drawnList(stopped, {...initialList, filter: 'word'}, size), /paused, 1 new $/m);
});

test('without rows a list says whether they are still being read, are not there, or do not match', t => {
  const failure = new CliError('unreachable', 'no answer');
  const narrow = {...initialList, filter: 'x'};

  t.regex(drawnList(listOf(undefined), initialList, size), /^reading …/m);
  t.notRegex(drawnList(listOf(undefined, {failure}), initialList, size), /reading/);
  t.regex(drawnList(listOf([]), narrow, size), /^no rows/m);
  t.regex(drawnList(listOf(named('a')), narrow, size), /^Nothing matches; escape/m);
  t.regex(drawnList(listOf(named('a'), {noneYet: 'looking'}), narrow, size), /^looking/m);
});

test('what could not be read is said above what there was', t => {
  const failure = new CliError('unreachable', 'no answer');

  t.regex(
    drawnList(listOf(named('a'), {failure, loadedAtMs: -60_000}), initialList, size),
    /✗ cannot be read: no answer; this is from 60s ago *\n.*\na /,
  );
});

test('a list fits the screen at every size, with hostile text in all of it', t => {
  const failure = new CliError('unreachable', hostile);
  const all = listOf(named(...letters(99).map(letter => hostile + letter)), {
    failure,
    banners: [{text: hostile, tone: 'bad'}],
    head: () => [hostile, {text: hostile, style: 'warn'}],
    orders: [{name: 'name', compare: () => 0}],
    ending: hostile,
    spanning: ({name}) => (name.endsWith('3') ? {text: name, style: 'warn'} : undefined),
    beside: {fromColumns: 120, width: 40, lines: () => ['beside']},
    below: {rows: () => 3, lines: () => ['below']},
  });

  for (const list of [all, {...all, rows: []}, {...all, rows: undefined}])
    for (const room of [{columns: 60, rows: 10}, ...sizes])
      fits(t, drawnList(list, {...initialList, filter: hostile}, room).split('\n'), room);
});

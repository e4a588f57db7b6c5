import test from 'ava';
import fc from 'fast-check';
import {listStart} from '../../../../cli/dashboard/list/list-window.ts';
import {createTailReducer, emptyTail, rowAt, type Tail, type TailEvent} from '../../../../cli/dashboard/list/tail.ts';
import {completedQuery, hasWords, parseQuery} from '../../../../cli/dashboard/list/tail-query.ts';

interface Row {
  key: string;
  seq: number;
  note?: string;
}
type Query = {least: number};

const limit = 50;
const height = 5;
const reduce = createTailReducer<Row, Query>({
  compare: (a, b) => b.seq - a.seq,
  matches: ({seq}, {least}) => seq >= least,
  limit,
});
const row = (seq: number): Row => ({key: `k${seq}`, seq});
const rows = (...seqs: number[]): Row[] => seqs.map(row);
const after = (...events: TailEvent<Row, Query>[]): Tail<Row, Query> => events.reduce(reduce, emptyTail<Row, Query>({least: 0}));
const arrived = (...seqs: number[]): TailEvent<Row, Query> => ({kind: 'arrived', rows: rows(...seqs)});
const pressed = (key: string): TailEvent<Row, Query> => ({kind: 'moved', key, height});
const seqs = ({shown}: Tail<Row, Query>): number[] => shown.map(({seq}) => seq);

test('the newest is at the top, and the cursor at the top stays with the newest', t => {
  const tail = after(arrived(1, 2), arrived(3));

  t.deepEqual(seqs(tail), [3, 2, 1]);
  t.deepEqual(tail.position, listStart);
});

test('the row under a cursor that has left the top keeps its line, whatever arrives', t => {
  fc.assert(
    fc.property(fc.integer({min: 1, max: 19}), fc.array(fc.integer({min: 21, max: 40}), {maxLength: 20}), (steps, news) => {
      const start = after(
        arrived(...Array.from({length: 20}, (_, at) => at + 1)),
        ...Array.from({length: steps}, () => pressed('j')),
      );

      const tail = reduce(start, arrived(...news));

      t.is(rowAt(tail, height)?.seq, rowAt(start, height)?.seq);
      t.is(tail.position.cursor - tail.position.top, start.position.cursor - start.position.top);
    }),
  );
});

test('while it is paused nothing moves, and going on shows all that has come', t => {
  const paused = after(arrived(1, 2), {kind: 'paused'}, arrived(2, 3), arrived(4));

  const resumed = reduce(paused, {kind: 'resumed'});

  t.deepEqual(seqs(paused), [2, 1]);
  t.is(paused.waiting.length, 2);
  t.deepEqual(seqs(resumed), [4, 3, 2, 1]);
  t.is(resumed.waiting.length, 0);
});

test('a row that comes again is there once, as it came last', t => {
  const tail = reduce(after(arrived(1)), {kind: 'arrived', rows: [{...row(1), note: 'anew'}]});

  t.deepEqual(tail.rows, [{key: 'k1', seq: 1, note: 'anew'}]);
});

test('the oldest are forgotten when there are too many, also of those that wait', t => {
  const many = Array.from({length: 3 * limit}, (_, at) => at);

  t.deepEqual(seqs(after(...many.map(seq => arrived(seq)))), many.toReversed().slice(0, limit));
  t.is(after({kind: 'paused'}, arrived(...many)).waiting.length, limit);
});

test('what does not follow on takes the place of what was there, in a paused list once it goes on', t => {
  const paused = after(arrived(1, 2), {kind: 'paused'}, {kind: 'arrived', rows: rows(8, 9), isAnew: true}, arrived(10));

  t.deepEqual(seqs(paused), [2, 1]);
  t.deepEqual(seqs(reduce(paused, {kind: 'resumed'})), [10, 9, 8]);
});

test('a filter begins at the top, and a new one finds what the one before has hidden', t => {
  const narrow = after(arrived(1, 2, 3, 4), pressed('G'), {kind: 'narrowed', query: {least: 3}});

  t.deepEqual(seqs(narrow), [4, 3]);
  t.is(narrow.position.cursor, 0);
  t.deepEqual(seqs(reduce(narrow, {kind: 'narrowed', query: {least: 2}})), [4, 3, 2]);
});

test('a paused list that is asked something else is not paused any more', t => {
  const tail = after(arrived(1), {kind: 'paused'}, {kind: 'narrowed', query: {least: 0}, isAnew: true}, arrived(7));

  t.deepEqual(seqs(tail), [7]);
});

test('a term is only what begins with a known name', t => {
  t.like(parseQuery(' type:held  Invoice since: http://x ', ['type', 'since']), {
    text: 'type:held  Invoice since: http://x',
    terms: {type: 'held'},
    words: ['invoice', 'since:', 'http://x'],
  });
});

test('all words have to be there, each anywhere', t => {
  t.true(hasWords(['Invoice 40', null, 'mx1'], ['invoice', 'mx']));
  t.false(hasWords(['Invoice 40', null, 'mx1'], ['invoice', 'mx2']));
});

test('tab goes through names, then through the values that have been seen', t => {
  const values = {type: ['held', 'health', 'held'], node: ['mx1']};

  t.deepEqual(completedQuery('words t', values), ['words type:']);
  t.deepEqual(completedQuery('words type:he', values), ['words type:health', 'words type:held']);
});

import test from 'ava';
import {createTailReducer, emptyTail, type Tail, type TailEvent} from '../../../../cli/dashboard/list/tail.ts';

interface Row {
  key: string;
  seq: number;
  note?: string;
}

const limit = 50;
const reduce = createTailReducer<Row>({compare: (a, b) => b.seq - a.seq, limit});
const row = (seq: number): Row => ({key: `k${seq}`, seq});
const rows = (...seqs: number[]): Row[] => seqs.map(row);
const after = (...events: TailEvent<Row>[]): Tail<Row> => events.reduce(reduce, emptyTail as Tail<Row>);
const arrived = (...seqs: number[]): TailEvent<Row> => ({kind: 'arrived', rows: rows(...seqs)});
const paused: TailEvent<Row> = {kind: 'pause-toggled'};
const seqs = ({rows: all}: Tail<Row>): number[] => all.map(({seq}) => seq);

test('the newest is at the top', t => {
  t.deepEqual(seqs(after(arrived(1, 2), arrived(3))), [3, 2, 1]);
});

test('while it is paused nothing moves, and going on shows all that has come', t => {
  const still = after(arrived(1, 2), paused, arrived(2, 3), arrived(4));

  const resumed = reduce(still, paused);

  t.deepEqual(seqs(still), [2, 1]);
  t.is(still.waiting.length, 2);
  t.deepEqual(seqs(resumed), [4, 3, 2, 1]);
  t.is(resumed.waiting.length, 0);
});

test('a row that comes again is there once, as it came last', t => {
  const tail = reduce(after(arrived(1)), {kind: 'arrived', rows: [{...row(1), note: 'again'}]});

  t.deepEqual(tail.rows, [{key: 'k1', seq: 1, note: 'again'}]);
});

test('the oldest are forgotten when there are too many, also of those that wait', t => {
  const many = Array.from({length: 3 * limit}, (_, at) => at);

  t.deepEqual(seqs(after(...many.map(seq => arrived(seq)))), many.toReversed().slice(0, limit));
  t.is(after(paused, arrived(...many)).waiting.length, limit);
});

test('what does not follow on takes the place of what was there, in a paused list once it goes on', t => {
  const still = after(arrived(1, 2), paused, {kind: 'arrived', rows: rows(8, 9), isNewList: true}, arrived(10));

  t.deepEqual(seqs(still), [2, 1]);
  t.deepEqual(seqs(reduce(still, paused)), [10, 9, 8]);
});

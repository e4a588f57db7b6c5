import test from 'ava';
import {cutText, layOut, lineWidth} from '../../../cli/output/layout.ts';

test('a column that grows gives what it does not need to those whose text would be cut', t => {
  const columns = (needs: readonly number[]) => needs.map(need => ({width: 20, grow: 1, need}));
  const widths = (...needs: number[]) => layOut(columns(needs), 94).map(({width}) => width);

  t.deepEqual(widths(10, 20, 30), [30, 30, 30]);
  t.deepEqual(widths(10, 31, 33), [15, 36, 39]);
  t.deepEqual(widths(10, 70, 20), [10, 60, 20]);
  t.deepEqual(widths(40, 25, 100), [32, 25, 33]);
});

test('columns of any need fill the line exactly', t => {
  for (const need of [0, 10, 31, 45, 60, 100]) {
    const columns = [{width: 6}, {width: 12, grow: 3, need}, {width: 14, grow: 5, need: 40}];
    t.is(lineWidth(layOut(columns, 80)), 80);
  }
});

test('a count at the end of a cut text stays', t => {
  const cut = (text: string, width: number) => cutText(text, {width, endsInCount: true});

  t.is(cut('somebody@example.com +2', 23), 'somebody@example.com +2');
  t.is(cut('somebody@example.com +2', 14), 'somebody@e… +2');
  t.is(cut('somebody@example.com +12', 14), 'somebody@… +12');
  t.is(cut('somebody@example.com', 14), 'somebody@exam…');
  t.is(cut('somebody@example.com +2', 4), 'som…');
  t.is(cutText('Sale +2 and more, and +2', {width: 14}), 'Sale +2 and m…');
});

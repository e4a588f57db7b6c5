import test from 'ava';
import {displayWidth, fold} from '../../../cli/output/display-width.ts';
import {safeLine} from '../../../shared/safe-text.ts';
import {hostileTexts} from '../../helpers/cli/hostile-text.ts';

test('what does not fit goes on below, under what follows the label', t => {
  t.is(fold('Subject:  one two three\nSize:  1', 16), 'Subject:  one tw\n        o three\nSize:  1');
  t.is(fold('  From: 日本語のメール', 14), '  From: 日本語\n       のメー\n       ル');
  t.is(fold('abcdefghij', 6), 'abcdef\n   ghi\n   j');
});

test('no folded line begins at the edge but those of ours, and none is wider than the terminal', t => {
  for (const text of hostileTexts(2000, 2)) {
    const line = `Subject:  ${safeLine(text)}`;
    const [first = '', ...more] = fold(line, 40).split('\n');

    t.true(first.startsWith('Subject:  '));
    for (const folded of more) t.true(folded.startsWith(' '.repeat(10)));
    for (const folded of [first, ...more]) t.true(displayWidth(folded) <= 40);
    t.is([first, ...more].join('').replaceAll(' ', ''), line.replaceAll(' ', ''));
  }
});

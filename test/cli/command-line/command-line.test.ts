import test from 'ava';
import {withOffset} from '../../../cli/command-line/typed-words.ts';
import {quoted} from '../../../shared/shell-word.ts';

test('the next page is what was typed with another offset', t => {
  t.is(withOffset(['quarantine', 'list', '--limit', '5'], 5), 'mfctl quarantine list --limit 5 --offset 5');
  t.is(withOffset(['-c', 'mx1', 'audit', '--offset', '100', '--limit=5'], 105), 'mfctl -c mx1 audit --limit=5 --offset 105');
  t.is(withOffset(['audit', '--offset=10'], 110), 'mfctl audit --offset 110');
});

test('words are quoted so that a shell reads them as they were', t => {
  t.is(quoted('--since'), '--since');
  t.is(quoted('<>'), "'<>'");
  t.is(quoted("it's; rm -rf"), "'it'\\''s; rm -rf'");
  t.is(quoted(''), "''");
});

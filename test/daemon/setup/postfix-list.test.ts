import test from 'ava';
import fc from 'fast-check';
import {listEntries, subjectOf, withEntry, withEntryReplaced, withoutEntry} from '../../../daemon/setup/postfix-tool.ts';

test('entries are parted by commas and spaces, but not within braces', t => {
  t.deepEqual(listEntries(`inet:a:1,{ unix:b, default_action=accept }  \${{$c} <level {2} ? {$d} : {}},\t$e`), [
    'inet:a:1',
    '{ unix:b, default_action=accept }',
    `\${{$c} <level {2} ? {$d} : {}}`,
    '$e',
  ]);
  t.deepEqual(listEntries(' , '), []);
});

test('an entry in braces is about its first word', t => {
  for (const entry of ['unix:b', '{unix:b}', '{ unix:b, default_action=accept }', '{unix:b,connect_timeout=1s}'])
    t.is(subjectOf(entry), 'unix:b', entry);
});

test('an entry is added at the end, and the rest stays as it was written', t => {
  t.is(withEntry('', 'x'), 'x');
  t.is(withEntry('a  b,c', 'x'), 'a  b,c, x');
  t.is(withEntry('a, b, ', 'x'), 'a, b, x');
});

test('an entry is taken out wherever it is', t => {
  t.is(withoutEntry('a  b,c', 'b'), 'a,c');
  t.is(withoutEntry('a  b,c', 'a'), 'b,c');
  t.is(withoutEntry('a  b, c', 'c'), 'a  b');
  t.is(withoutEntry('c', 'c'), '');
  t.is(withoutEntry('a, b', 'c'), 'a, b');
  t.is(withEntryReplaced('a,  b c', 'b', 'x'), 'a,  x c');
});

test('what was added and is taken out again leaves the list as it was', t => {
  const entry = fc.constantFrom('inet:a:1', '{ unix:b, default_action=accept }', '$mydestination', 'hash:/etc/x', `\${a?{b}}`);
  const list = fc.array(fc.tuple(entry, fc.constantFrom(', ', ' ', ',', '   '))).map(parts =>
    parts
      .flat()
      .join('')
      .replace(/[\s,]+$/, ''),
  );
  fc.assert(fc.property(list, value => t.is(withoutEntry(withEntry(value, '{ unix:ours }'), '{ unix:ours }'), value)));
});

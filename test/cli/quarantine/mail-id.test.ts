import test from 'ava';
import {CliError} from '../../../cli/errors.ts';
import {mailId, parseMailId, parseMailIds} from '../../../cli/quarantine/held-mail-columns.ts';

test('a mail id is a node and a queue id', t => {
  const mail = parseMailId('mx-1.example/5fJk2LmQ0a');

  t.deepEqual(mail, {node_id: 'mx-1.example', queue_id: '5fJk2LmQ0a'});
  t.is(mailId(mail), 'mx-1.example/5fJk2LmQ0a');
});

test('nothing that could lead elsewhere in the API is a mail id', t => {
  for (const text of [
    '',
    'abcdef',
    'a/b/cdefgh',
    '../abcdef',
    'a/..',
    'a/abc%2fdef',
    'a/abcdef?x=1',
    'a /abcdef',
    '-/abcdef',
    'a/abcdef\n',
  ])
    t.is(t.throws(() => parseMailId(text), {instanceOf: CliError}).exitCode, 2, text);
});

test('ids on standard input are the first words of its lines', t => {
  const lines = 'ID  ARRIVED\nmx1/aaaaaa  2026-03-01T00:00:00Z  spam\r\n\n  mx2/bbbbbb\n';

  t.deepEqual(parseMailIds(lines).map(mailId), ['mx1/aaaaaa', 'mx2/bbbbbb']);
});

test('one line that is no id makes all of standard input wrong', t => {
  t.throws(() => parseMailIds('mx1/aaaaaa\nsomething else\n'), {instanceOf: CliError});
});

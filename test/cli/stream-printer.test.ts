import test from 'ava';
import type {GlobalFlags} from '../../cli/session.ts';
import {createStreamPrinter, type StreamColumn} from '../../cli/stream-printer.ts';
import {createFakeTerminal, type FakeTerminalOptions} from './fake-terminal.ts';

interface Row {
  at: string;
  id: string;
  about: string;
}

const columns: StreamColumn<Row>[] = [
  {title: 'AT', cell: row => `2026-${row.at}`, width: 10, brief: row => row.at, briefWidth: 5, dropRank: 1},
  {title: 'ID', cell: row => row.id, width: 4, tone: row => (row.id === 'bad' ? 'bad' : undefined)},
  {title: 'ABOUT', cell: row => row.about, width: 8, isFlexible: true},
];

const rows: Row[] = [
  {at: '03-01', id: 'a', about: 'x\x1b[2J\r\ny'},
  {at: '03-02', id: 'abcdef', about: 'a long story that has no end'},
  {at: '03-03', id: 'bad', about: ''},
];

const printed = async (options: FakeTerminalOptions = {}, flags: Partial<GlobalFlags> = {}): Promise<string> => {
  const terminal = createFakeTerminal(options);
  const printer = createStreamPrinter(terminal, {color: true, ...flags}, columns);
  for (const row of rows) await printer.print(row);
  return terminal.out();
};

test('a terminal gets lines under a header, aligned as they come', async t => {
  const text = await printed({columns: 40, env: {NO_COLOR: '1'}});

  t.is(
    text,
    [
      'AT          ID    ABOUT',
      '2026-03-01  a     x␛[2J y',
      '2026-03-02  abcdef  a long story that h…',
      '2026-03-03  bad     -',
      '',
    ].join('\n'),
  );
});

test('a narrow terminal gets shorter cells, then fewer columns', async t => {
  t.regex(await printed({columns: 22}), /^AT +ID +ABOUT\n03-01 {2}a {5}x␛\[2J y\n/);
  t.regex(await printed({columns: 18}), /^ID +ABOUT\na {5}x␛\[2J y\n/);
});

test('a pipe gets an object a line, unless a table was asked for, which is not cut then', async t => {
  const lines = rows.map(row => JSON.stringify(row).replaceAll('\x1b', '\\u001b')).join('\n');

  t.is((await printed()).trimEnd(), lines);
  t.is((await printed({columns: 40}, {output: 'json'})).trimEnd(), lines);
  t.is((await printed({env: {MFCTL_OUTPUT: 'ndjson'}, columns: 40})).trimEnd(), lines);
  t.regex(await printed({}, {output: 'table'}), /^2026-03-02 {2}abcdef {2}a long story that has no end$/m);
});

test('colour goes to a terminal that wants it', async t => {
  t.true((await printed({columns: 80})).includes('\x1b[31mbad\x1b[39m'));
  t.false((await printed({}, {output: 'table'})).includes('\x1b[31m'));
});

test('a format that no stream has is refused before anything is printed', t => {
  const terminal = createFakeTerminal({env: {MFCTL_OUTPUT: 'xml'}});

  t.throws(() => createStreamPrinter(terminal, {color: true}, columns), {
    message: /"xml": it must be one of table, json, ndjson/,
  });
});

import test from 'ava';
import {Command} from 'commander';
import {parseAllDocuments} from 'yaml';
import {createStreamPrinter, type Streamed} from '../../../cli/output/stream-printer.ts';
import {createSession, type GlobalFlags} from '../../../cli/session.ts';
import {createFakeTerminal, type FakeTerminalOptions} from '../../helpers/cli/fake-terminal.ts';

interface Row {
  at: string;
  id: string;
  about: string;
}

const streamed: Streamed<Row> = {
  fields: ['at', 'id', 'about'],
  nameOf: row => row.id,
  columns: [
    {title: 'AT', cell: row => `2026-${row.at}`, width: 10, brief: row => row.at, briefWidth: 5, dropRank: 1},
    {title: 'ID', cell: row => row.id, width: 4, tone: row => (row.id === 'bad' ? 'bad' : undefined)},
    {title: 'ABOUT', cell: row => row.about, wide: row => `${row.about}!`, width: 8, isFlexible: true},
  ],
};

const rows: Row[] = [
  {at: '03-01', id: 'a', about: 'x\x1b[2J\r\ny'},
  {at: '03-02', id: 'abcdef', about: 'a long story that has no end'},
  {at: '03-03', id: 'bad', about: ''},
];

const printed = async (options: FakeTerminalOptions = {}, flags: Partial<GlobalFlags> = {}): Promise<string> => {
  const terminal = createFakeTerminal(options);
  const session = createSession({terminal, version: '1', argv: [], flags: () => ({color: true, ...flags})});
  const command = session.prints(new Command(), streamed);
  await session.prepareOutput(command);
  const printer = createStreamPrinter(session, streamed);
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

test('a line is not broken for a last cell that could be a little shorter', async t => {
  const text = await printed({columns: 15, env: {NO_COLOR: '1'}});

  t.is(text, ['ID    ABOUT', 'a     x␛[2J y', 'abcdef  a long…', 'bad     -', ''].join('\n'));
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

test('every other format has its stream, with one header and one document each', async t => {
  t.is(await printed({}, {output: 'name'}), 'a\nabcdef\nbad\n');
  t.is(
    await printed({}, {output: 'csv'}),
    'at,id,about\r\n03-01,a,x␛[2J y\r\n03-02,abcdef,a long story that has no end\r\n03-03,bad,\r\n',
  );
  t.deepEqual(
    parseAllDocuments(await printed({}, {output: 'yaml'})).map(document => document.toJSON()),
    rows,
  );
  t.true((await printed({columns: 30}, {output: 'wide'})).includes('a long story that has no end!\n'));
});

test('--json picks fields in every format that has some', async t => {
  t.is(await printed({columns: 80}, {json: 'id'}), '{"id":"a"}\n{"id":"abcdef"}\n{"id":"bad"}\n');
  t.is(await printed({}, {json: 'id,at', output: 'csv'}), 'id,at\r\na,03-01\r\nabcdef,03-02\r\nbad,03-03\r\n');
});

import test from 'ava';
import fc from 'fast-check';
import type {Column} from '../../../cli/output/column.ts';
import {displayWidth, truncate} from '../../../cli/output/display-width.ts';
import {renderDetails, renderTable} from '../../../cli/output/table.ts';
import {safeLine} from '../../../shared/safe-text.ts';
import {anyCharacter} from '../../helpers/any-character.ts';

interface Row {
  name: string;
  count: number;
  note: string;
}

const anything = fc.string({unit: anyCharacter});

const columns: Column<Row>[] = [
  {title: 'NAME', cell: row => row.name, isFlexible: true},
  {title: 'COUNT', cell: row => row.count, align: 'right'},
  {title: 'NOTE', cell: row => row.note, isFlexible: true},
];

test('columns start at the same cell in every line, whatever the script', t => {
  const names = ['plain', '東京タワー', 'naïve', 'e\u0301te\u0301', 'สวัสดี', '🙂 smile', '한국어'];

  const lines = renderTable(
    names.map((name, at) => ({name, count: 10 ** at, note: '|'})),
    columns,
  ).trimEnd();

  const positions = lines
    .split('\n')
    .slice(1)
    .map(line => displayWidth(line.slice(0, line.indexOf('|'))));
  t.deepEqual([...new Set(positions)].length, 1);
});

test('a table has a header in capitals, no borders and no trailing spaces', t => {
  const text = renderTable([{name: 'a', count: 5, note: ''}], columns);

  t.is(text, 'NAME  COUNT  NOTE\na         5  -\n');
});

test('only flexible columns are cut, and only to fit a terminal', t => {
  const row = {name: 'n'.repeat(60), count: 123_456, note: 'x'.repeat(60)};

  const wide = renderTable([row], columns);
  const narrow = renderTable([row], columns, {maxWidth: 60});

  t.true(wide.includes('n'.repeat(60)) && wide.includes('x'.repeat(60)));
  t.true(narrow.includes('123456'));
  for (const line of narrow.trimEnd().split('\n')) t.true(displayWidth(line) <= 60);
});

test('a narrow terminal gets shorter cells, then fewer columns, and cut cells last', t => {
  const row = {name: 'n'.repeat(20), count: 5, note: 'x'.repeat(20)};
  const shown: Column<Row>[] = [
    {title: 'WHEN', cell: () => '2026-03-01T09:30:00Z', brief: () => '03-01 09:30Z'},
    {title: 'NAME', cell: ({name}) => name, isFlexible: true},
    {title: 'COUNT', cell: ({count}) => count, dropRank: 1},
    {title: 'NOTE', cell: ({note}) => note, isFlexible: true, dropRank: 2},
  ];
  const header = (maxWidth?: number) => renderTable([row], shown, {maxWidth}).split('\n').slice(0, 2).join('\n');

  t.regex(header(), /^WHEN +NAME +COUNT +NOTE\n2026-03-01T09:30:00Z +n{20} +5 +x{20}$/);
  t.regex(header(55), /^WHEN +NAME +COUNT +NOTE\n03-01 09:30Z +n+… +5 +x+…$/);
  t.regex(header(46), /^WHEN +NAME +NOTE\n03-01 09:30Z +n+… +x+…$/);
  t.regex(header(40), /^WHEN +NAME\n03-01 09:30Z +n{20}$/);
  t.regex(header(24), /^WHEN +NAME\n03-01 09:30Z +n{9}…$/);
});

test('a table cut to a terminal never writes a line wider than it', t => {
  const rowsOfAnything = fc.array(fc.record({name: anything, count: fc.nat(), note: anything}), {minLength: 1});
  const header = (text: string) => /^NAME +COUNT +NOTE\n/.test(text);

  const property = fc.property(rowsOfAnything, fc.integer({min: 18, max: 60}), (rows, maxWidth) => {
    const text = renderTable(rows, columns, {maxWidth});
    const lines = text.split('\n').slice(0, -1);
    const count = header(text) ? rows.length + 1 : 4 * rows.length - 1;
    return lines.length === count && lines.every(line => displayWidth(line) <= maxWidth);
  });

  t.notThrows(() => fc.assert(property));
});

test('a title is cut with its column', t => {
  const shown: Column<Row>[] = [
    {title: 'POLICY DOMAIN', cell: row => row.name, isFlexible: true},
    {title: 'NOTE', cell: row => row.note, isFlexible: true},
  ];

  const text = renderTable([{name: 'n'.repeat(30), count: 5, note: 'x'.repeat(30)}], shown, {maxWidth: 20});

  t.is(text, `POLICY D…  NOTE\n${'n'.repeat(8)}…  ${'x'.repeat(8)}…\n`);
});

test('where a table would be wider than the terminal, each row is a block of lines, and an id in it is whole', t => {
  const rows = [
    {id: 'mx1/aaaaaa', note: 'x'.repeat(60)},
    {id: `mx-${'y'.repeat(30)}/bbbbbb`, note: 'short'},
  ];
  const shown: Column<(typeof rows)[number]>[] = [
    {title: 'ID', cell: row => row.id},
    {title: 'LAST SEEN', cell: () => '2026-03-01T09:30:00Z', brief: () => '03-01'},
    {title: 'NOTE', cell: row => row.note, isFlexible: true, tone: () => 'bad'},
    {title: 'MORE', cell: () => 'more', isWideOnly: true},
  ];

  t.is(
    renderTable(rows, shown, {maxWidth: 36}),
    [
      'ID:         mx1/aaaaaa',
      'LAST SEEN:  2026-03-01T09:30:00Z',
      `NOTE:       ${'x'.repeat(23)}…`,
      '',
      'ID:',
      `mx-${'y'.repeat(30)}/bbbbbb`,
      'LAST SEEN:  2026-03-01T09:30:00Z',
      'NOTE:       short',
      '',
    ].join('\n'),
  );
  t.regex(renderTable(rows, shown, {maxWidth: 36, isColour: true}), /\nNOTE: {7}\x1b\[31mx+…\x1b\[39m\n/);
});

test('wide has the columns that are for it alone, and the longer cells', t => {
  const shown: Column<Row>[] = [
    {title: 'NAME', cell: row => row.name, wide: row => `${row.name} in full`, dropRank: 1},
    {title: 'NOTE', cell: row => row.note, isFlexible: true},
    {title: 'COUNT', cell: row => row.count, isWideOnly: true},
  ];
  const row = {name: 'n', count: 5, note: 'x'.repeat(60)};

  t.is(renderTable([row], shown), `NAME  NOTE\nn     ${row.note}\n`);
  t.regex(renderTable([row], shown, {isWide: true, maxWidth: 20}), /^NAME +NOTE +COUNT\nn in full +x{60} +5\n$/);
});

test('no cell can add a line, move the cursor or reorder what is around it', t => {
  const property = fc.property(anything, text => {
    const table = renderTable([{name: text, count: 1, note: text}], columns).split('\n');
    const details = renderDetails([['Name', text]]).split('\n');
    return table.length === 3 && details.length === 2 && [...table, ...details].every(line => safeLine(line) === line);
  });

  t.notThrows(() => fc.assert(property));
});

test('colours do not move a column', t => {
  const coloured: Column<Row>[] = columns.map(column => ({...column, tone: () => 'bad'}));
  const rows = [
    {name: 'a', count: 5, note: 'z'},
    {name: 'bbb', count: 500, note: 'z'},
  ];

  const text = renderTable(rows, coloured, {isColour: true});

  t.true(text.includes('\x1b[31m'));
  t.is(text.replace(/\x1b\[\d+m/g, ''), renderTable(rows, columns));
});

test('details put a list on lines of its own under one label', t => {
  t.is(
    renderDetails([
      ['To', ['a@x.example', 'b@x.example']],
      ['Cc', []],
      ['Score', 4.5],
    ]),
    'To:     a@x.example\n        b@x.example\nCc:     -\nScore:  4.5\n',
  );
});

test('text is cut between characters and never wider than asked for', t => {
  t.is(truncate('abcdef', 4), 'abc…');
  t.is(truncate('日本語', 5), '日本…');
  t.is(truncate('日本語', 4), '日…');
  t.is(truncate('日本語', 6), '日本語');
});

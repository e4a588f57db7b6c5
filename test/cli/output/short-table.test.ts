import test from 'ava';
import fc from 'fast-check';
import type {Column} from '../../../cli/output/column.ts';
import {drawShortTable} from '../../../cli/output/short-table.ts';
import {renderTable} from '../../../cli/output/table.ts';

interface Row {
  name: string;
  count: number;
  note: string;
}

const columns: Column<Row>[] = [
  {title: 'NAME', cell: row => row.name, isFlexible: true},
  {title: 'COUNT', cell: row => row.count, align: 'right', tone: row => (row.count > 100 ? 'bad' : undefined)},
  {title: 'NOTE', cell: row => row.note, isFlexible: true},
];

const word = fc.oneof(
  fc.string({unit: 'grapheme-ascii', maxLength: 40}),
  fc.constantFrom('東京タワー', '한국어', 'naïve', '\x1b[31mred'),
);

test('a short table looks as one that is drawn line by line', t => {
  const row = fc.record({name: word, count: fc.integer({min: -1000, max: 1000}), note: word});
  fc.assert(
    fc.property(
      fc.array(row, {minLength: 1, maxLength: 8}),
      fc.integer({min: 10, max: 100}),
      fc.boolean(),
      (rows, maxWidth, isColour) => {
        const style = {maxWidth, isColour};
        t.is(renderTable(rows, columns, {...style, draw: drawShortTable}), renderTable(rows, columns, style));
      },
    ),
  );
});

test('a column keeps its width when wide characters that do not fit leave a cell of it empty', t => {
  const rows = [
    {name: '東京タワー', count: -62, note: 'a'.repeat(40)},
    {name: 'M', count: 24, note: 'b'},
  ];
  const widths = Array.from({length: 40}, (_, n) => n + 15);

  for (const maxWidth of widths)
    t.is(renderTable(rows, columns, {maxWidth, draw: drawShortTable}), renderTable(rows, columns, {maxWidth}));
});

test('more than 200 rows are drawn line by line', t => {
  let drawn = 0;
  const draw = () => {
    drawn += 1;
    return [];
  };
  const rows = (count: number) => Array.from({length: count}, (_, at) => ({name: `n${at}`, count: at, note: ''}));

  renderTable(rows(200), columns, {draw});
  const text = renderTable(rows(201), columns, {draw});

  t.is(drawn, 1);
  t.is(text.trimEnd().split('\n').length, 202);
});

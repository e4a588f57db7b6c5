import test from 'ava';
import fc from 'fast-check';
import {fieldsOf, toCsv} from '../../../cli/output/csv.ts';
import {safeLine} from '../../../shared/safe-text.ts';
import {anyCharacter} from '../../helpers/any-character.ts';
import {parseCsv} from '../../helpers/cli/csv-reader.ts';

const cellOf = (value: unknown): string => parseCsv(toCsv(['cell'], [{cell: value}]))[1]?.[0] ?? '';

test('a header and a record a line, ended by CRLF, quoted only where it has to be', t => {
  const records = [
    {name: 'a,b', note: 'say "hi"', count: -5, isOn: true, none: null},
    {name: ' a', note: 'plain', count: 0.5, isOn: false},
  ];

  t.is(
    toCsv(fieldsOf(records), records),
    'name,note,count,isOn,none\r\n"a,b","say ""hi""",-5,true,\r\n" a",plain,0.5,false,\r\n',
  );
});

test('a list of plain values is words, and anything deeper is JSON', t => {
  t.is(cellOf(['a@x.example', 'b@x.example']), 'a@x.example b@x.example');
  t.is(cellOf([]), '');
  t.is(cellOf([{name: 'X', score: 1}]), '[{"name":"X","score":1}]');
  t.is(cellOf({type: 'community'}), '{"type":"community"}');
});

test('text that a spreadsheet would take for a formula is marked as text, and a number is not', t => {
  for (const text of [
    '=1+1',
    '+1',
    '-1',
    '@SUM(A1)',
    '\t=1',
    '\rx',
    ' =1',
    '"=1',
    "'=1",
    '“=1',
    '\u00a0=1',
    '＝1',
    '＋1',
    '－1',
    '＠x',
    '\u22121',
  ])
    t.is(cellOf(text), `'${safeLine(text)}`, JSON.stringify(text));
  t.is(cellOf(['=1', 'x']), "'=1 x");
  for (const text of ['a=1', '1-1', 'x@y.example', '"quoted"', '<>', '(-1)']) t.is(cellOf(text), text);
  t.is(cellOf(-1.5), '-1.5');
});

test('whatever a cell holds, it reads back as one harmless cell', t => {
  const property = fc.property(fc.array(fc.string({unit: anyCharacter}), {minLength: 1}), texts => {
    const csv = toCsv(
      texts.map((_, at) => `f${at}`),
      [Object.fromEntries(texts.map((text, at) => [`f${at}`, text]))],
    );
    const [header, row, ...more] = parseCsv(csv);
    const isSame = texts.every((text, at) => row?.[at]?.replace(/^'/, '') === safeLine(text).replace(/^'/, ''));
    return header?.length === texts.length && row?.length === texts.length && more.length === 0 && isSame;
  });

  t.notThrows(() => fc.assert(property, {numRuns: 1000}));
});

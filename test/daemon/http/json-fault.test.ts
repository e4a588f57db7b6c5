import test from 'ava';
import fc from 'fast-check';
import {jsonFault} from '../../../daemon/http/json-fault.ts';

const isJson = (text: string): boolean => {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
};

test('the place is that of the first character that cannot stand there', t => {
  const places: [text: string, place: string][] = [
    ['', 'line 1, column 1'],
    ['{', 'line 1, column 2'],
    ['{"a": 1,,}', 'line 1, column 9'],
    ['{\n  "name": "a.example",\n  "backend_servers": ["x:25",]\n}', 'line 3, column 30'],
    ['{"a": 1,\r\n "b": tru}', 'line 2, column 7'],
    ["{'a': 1}", 'line 1, column 2'],
    ['{"a" 1}', 'line 1, column 6'],
    ['{"a": "x\ny"}', 'line 1, column 9'],
    ['{"a": "\\x"}', 'line 1, column 8'],
    ['{"a": "x', 'line 1, column 9'],
    ['[1, 2}', 'line 1, column 6'],
    ['01', 'line 1, column 2'],
    ['{} {}', 'line 1, column 4'],
    ['{1: 2}', 'line 1, column 2'],
  ];

  for (const [text, place] of places) t.is(jsonFault(text), place, text);
});

test('a text has a place if and only if JSON.parse refuses it', t => {
  const edits = fc.tuple(
    fc.json(),
    fc.nat(),
    fc.constantFrom('', ',', '"', '}', ']', '{', '[', ':', '\\', '0', '-', '.', 'e', '\n'),
  );
  fc.assert(
    fc.property(edits, ([json, at, piece]) => {
      const cut = at % (json.length + 1);
      const broken = json.slice(0, cut) + piece + json.slice(cut + (at % 2));
      return (jsonFault(broken) === undefined) === isJson(broken) && jsonFault(json) === undefined;
    }),
    {numRuns: 3000},
  );
  t.pass();
});

test('a text that is nested deeply or has one long string does not exhaust the stack', t => {
  t.is(jsonFault('['.repeat(262_144)), 'line 1, column 262145');
  t.is(jsonFault(`["${'ab\\u0041'.repeat(1_000_000)}"`), 'line 1, column 8000004');
});

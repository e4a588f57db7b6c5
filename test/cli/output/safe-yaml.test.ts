import {isDeepStrictEqual} from 'node:util';
import test from 'ava';
import fc from 'fast-check';
import {parse} from 'yaml';
import {safeYaml} from '../../../cli/output/safe-yaml.ts';
import {safeBlock} from '../../../shared/safe-text.ts';
import {anyCharacter} from '../../helpers/any-character.ts';

const text = fc.string({unit: anyCharacter});

test('YAML keeps its value whatever it holds', t => {
  const property = fc.property(
    fc.oneof(fc.jsonValue({noUnicodeString: false}), fc.dictionary(text, text), fc.array(text)),
    value => {
      const json: unknown = JSON.parse(JSON.stringify(value));
      return isDeepStrictEqual(parse(safeYaml(json)), json);
    },
  );

  t.notThrows(() => fc.assert(property, {numRuns: 1000}));
});

test('YAML holds no character that a terminal acts on or does not draw, and a text is never more than its line', t => {
  const property = fc.property(text, value => {
    // Stacked combining marks are cut in tables; in YAML they are data.
    const yaml = safeYaml({value}).replace(/\p{M}+/gu, '');
    return safeBlock(yaml) === yaml && yaml.split('\n').length === 2;
  });

  t.notThrows(() => fc.assert(property, {numRuns: 1000}));
});

test('what other parsers would read as something else is quoted', t => {
  t.is(
    safeYaml({a: 'on', b: '12:30:00', c: '2026-03-01T09:30:00.000Z', d: '1_000', e: 'null', f: '', g: 'plain text, 東京'}),
    'a: "on"\nb: "12:30:00"\nc: "2026-03-01T09:30:00.000Z"\nd: "1_000"\ne: "null"\nf: ""\ng: plain text, 東京\n',
  );
  t.is(safeYaml({text: 'a\u202eb\u{e0041}\nc'}), 'text: "a\\u202eb\\U000e0041\\nc"\n');
});

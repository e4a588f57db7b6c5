import {isDeepStrictEqual} from 'node:util';
import test from 'ava';
import fc from 'fast-check';
import {safeJson} from '../../../cli/output/safe-json.ts';
import {safeBlock} from '../../../shared/safe-text.ts';
import {anyCharacter} from '../../helpers/any-character.ts';

const text = fc.string({unit: anyCharacter});

test('JSON keeps its value whatever it holds', t => {
  const property = fc.property(fc.oneof(fc.jsonValue(), fc.dictionary(text, text)), value =>
    isDeepStrictEqual(JSON.parse(safeJson(value, 2)), JSON.parse(JSON.stringify(value))),
  );

  t.notThrows(() => fc.assert(property));
});

test('JSON holds no character that a terminal acts on or does not draw', t => {
  const property = fc.property(text, value => {
    // Stacked combining marks are cut in tables; in JSON they are data.
    const json = safeJson({value}, 2).replace(/\p{M}+/gu, '');
    return safeBlock(json) === json;
  });

  t.notThrows(() => fc.assert(property));
  t.is(safeJson('a\u009b31m\u202eb\u200b'), '"a\\u009b31m\\u202eb\\u200b"');
});

test('JSON leaves writing of every script readable', t => {
  const greeting = 'Grüße, 東京, नमस्ते, สวัสดี, мир, e\u0301, 🙂';

  t.is(safeJson(greeting), `"${greeting}"`);
});

test('a character beyond 16 bits is escaped as its surrogate pair', t => {
  t.is(safeJson('\u{e0041}'), '"\\udb40\\udc41"');
});

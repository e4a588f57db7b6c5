import test from 'ava';
import fc from 'fast-check';
import {compileGlob, globText, isGlob} from '../../shared/glob.ts';
import {anyCharacter} from '../helpers/any-character.ts';

const matchesGlob = (pattern: string, text: string) => compileGlob(pattern)(globText(text));

test('a star is any text, a question mark one character, a backslash takes the next literally', t => {
  const matching: [string, string][] = [
    ['*', ''],
    ['a*c', 'ac'],
    ['a*c', 'abcbc'],
    ['a?c', 'a😀c'],
    ['*offer*', 'Great OFFER today'],
    ['\\*\\?\\\\', '*?\\'],
    ['gro?e*', 'Große Gewinne'],
    ['caf\u00e9', 'cafe\u0301'],
    ['**a**', 'a'],
  ];
  const others: [string, string][] = [
    ['', 'a'],
    ['a', ''],
    ['a*c', 'abcd'],
    ['?', ''],
    ['?', 'ab'],
    ['\\*', 'x'],
    ['offer', 'an offer'],
    ['a\\', 'a'],
  ];

  for (const [pattern, text] of matching) t.true(matchesGlob(pattern, text), `${pattern} ${text}`);
  for (const [pattern, text] of others) t.false(matchesGlob(pattern, text), `${pattern} ${text}`);
});

test('only a lone backslash at the end is no pattern', t => {
  t.true(isGlob('a\\\\'));
  t.false(isGlob('a\\'));
  t.false(isGlob('\\\\\\'));
});

test('a pattern matches what the same regular expression matches', t => {
  const pattern = fc
    .array(fc.constantFrom('a', 'b', '*', '?', '\\*', '\\?', '\\\\', '.'), {maxLength: 8})
    .map(parts => parts.join(''));
  const text = fc.array(fc.constantFrom('a', 'b', '*', '?', '\\', '.', 'A'), {maxLength: 10}).map(parts => parts.join(''));
  const toRegExp = (glob: string) =>
    new RegExp(
      `^${glob.replace(/\\(.)|([*?])|(.)/gs, (_, escaped, wild, plain) => {
        if (wild) return wild === '*' ? '[^]*' : '[^]';
        return `\\u{${(escaped ?? plain).codePointAt(0).toString(16)}}`;
      })}$`,
      'iu',
    );
  fc.assert(
    fc.property(pattern, text, (glob, given) => {
      t.is(matchesGlob(glob, given), toRegExp(glob).test(given), `${glob} ${given}`);
    }),
    {numRuns: 2000},
  );
});

test('every text matches itself escaped, in upper case too', t => {
  fc.assert(
    fc.property(fc.string({unit: anyCharacter}), text => {
      const escaped = text.replace(/[*?\\]/g, '\\$&');
      t.true(isGlob(escaped));
      t.true(matchesGlob(escaped, text));
    }),
  );
  t.true(matchesGlob('STRASSE ÉÀ', 'strasse éà'));
});

test('a pattern made to be slow is answered', t => {
  t.false(matchesGlob('*a'.repeat(120), 'a'.repeat(100).concat('b'.repeat(4000))));
  t.false(matchesGlob(`${'*'.repeat(250)}c`, 'b'.repeat(4000)));
  t.false(matchesGlob(`*${'a'.repeat(253)}b*`, 'a'.repeat(100_000)));
});

test('what stands between stars is found wherever it is, however long it is', t => {
  const piece = fc.array(fc.constantFrom('a', 'b', '?'), {minLength: 1, maxLength: 80}).map(parts => parts.join(''));
  fc.assert(
    fc.property(piece, fc.nat({max: 50}), fc.nat({max: 50}), (wanted, before, after) => {
      const found = wanted.replaceAll('?', 'c');
      const text = `${'a'.repeat(before)}${found}${'b'.repeat(after)}`;
      t.true(matchesGlob(`*${wanted}*`, text));
      t.false(matchesGlob(`*${wanted}*`, text.replaceAll('a', 'x').replaceAll('b', 'y')) && /[ab]/.test(wanted));
    }),
  );
});

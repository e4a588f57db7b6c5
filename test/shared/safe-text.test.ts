import test from 'ava';
import fc from 'fast-check';
import {safeBlock, safeLine} from '../../shared/safe-text.ts';
import {anyCharacter} from '../helpers/any-character.ts';

/** Characters that can move a cursor, reorder, hide or imitate text: none of them may appear in the output. */
const hostile = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}]/u;

const anyText = fc.oneof(
  fc.string({unit: anyCharacter}),
  fc.array(fc.integer({min: 0, max: 0xffff}).map(code => String.fromCharCode(code))).map(units => units.join('')),
  fc
    .array(
      fc.constantFrom(
        '\x1b[31m',
        '\x1b]0;t\x07',
        '\u009b1m',
        '\u202e',
        '\u200b',
        '\ufeff',
        '\u2066',
        '\u00ad',
        '\r',
        '\n',
        '\t',
        '\x7f',
        'a',
        '\u0301',
        '\ufe0f',
      ),
    )
    .map(parts => parts.join('')),
);

test('nothing hostile survives on a line', t => {
  fc.assert(
    fc.property(anyText, text => t.notRegex(safeLine(text), hostile)),
    {numRuns: 1000},
  );
});

test('nothing hostile survives in a block but line feeds and tabs', t => {
  fc.assert(
    fc.property(anyText, text => t.notRegex(safeBlock(text).replace(/[\n\t]/g, ''), hostile)),
    {numRuns: 1000},
  );
});

test('what is safe is left as it is', t => {
  fc.assert(
    fc.property(anyText, text => {
      t.is(safeLine(safeLine(text)), safeLine(text));
      t.is(safeBlock(safeBlock(text)), safeBlock(text));
    }),
    {numRuns: 1000},
  );
});

test('plain text of many scripts passes unchanged', t => {
  const texts = [
    'Plain ASCII ~!@#',
    'Grüße, Łódź, İstanbul',
    'Ελληνικά',
    'Привет',
    'שלום',
    'مرحبا بالعالم',
    'नमस्ते दुनिया',
    'สวัสดีชาวโลก',
    'გამარჯობა',
    '日本語のメール',
    '한국어 메일',
    '繁體中文',
    '1 € – “quoted” … ½',
    '📧 🚀',
    'cafe\u0301',
    'Tiếng Việt',
    'မြို့',
    '한국어'.normalize('NFD'),
    '🇩🇪 🏳',
  ];
  for (const text of texts) {
    t.is(safeLine(text), text);
    t.is(safeBlock(`${text}\n\t${text}`), `${text}\n\t${text}`);
  }
});

test('each trick is shown instead of done', t => {
  const tricks: [string, string][] = [
    ['\x1b[2J', '␛[2J'],
    ['\x07', '␇'],
    ['a\u202egpj.exe', 'a\ufffdgpj.exe'],
    ['pay\u200bpal', 'pay\ufffdpal'],
    ['\u{e0041}x', '\ufffdx'],
    ['one\r\ntwo\nthree\u2028four\tfive', 'one two three four five'],
    ['\u009b31m', '\ufffd31m'],
    ['\x7f', '␡'],
    ['\ud83d', '\ufffd'],
    ['\u0301x', '\u25cc\u0301x'],
    [`z${'\u0300'.repeat(500)}`, 'z\u0300\u0300\u0300\u0300'],
    ['1\ufe0f\u20e3 #\u20e3', '1 #'],
    ['👍🏽 ☝\ufe0f🏿 x🏽', '👍 ☝ x\ufffd'],
    ['☰ ䷀ ㉈', '\ufffd \ufffd \ufffd'],
    ['a\u1161 \u1100\u11a8 \u1100\u1161\u1161 \uac01\u11a8', 'a\ufffd \u1100\ufffd \u1100\u1161\ufffd \uac01\ufffd'],
  ];
  for (const [text, shown] of tricks) t.is(safeLine(text), shown, JSON.stringify(text));
});

test('a long text is made safe too', t => {
  t.is(safeLine('\u0300'.repeat(200_000)).length, 5);
  t.is(safeLine('a\u0300\u0300\u0300'.repeat(50_000)).length, 200_000);
  t.false(safeBlock('\r\n\t\x1b'.repeat(100_000)).includes('\x1b'));
});

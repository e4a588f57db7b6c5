import test from 'ava';
import fc from 'fast-check';
import {createHeaderReader, decodeHeader, headerValues, subjectOf} from '../../../../daemon/services/intake/header-block.ts';
import {headersOf, sample} from '../../../helpers/received-mail.ts';

const read = (chunks: Buffer[], maxBytes?: number) => {
  const reader = createHeaderReader(maxBytes === undefined ? {} : {maxBytes});
  for (const chunk of chunks) reader.push(chunk);
  return {fields: reader.fields(), isDone: reader.isDone, isTooLong: reader.isTooLong};
};

const cutAt = (bytes: Buffer, places: number[]): Buffer[] => {
  const edges = [0, ...places.map(place => place % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
  return edges.slice(1).map((edge, index) => bytes.subarray(edges[index], edge));
};

/** Text made of the significant pieces, so that short runs find the edge cases. */
const pieces = (...words: string[]) => fc.array(fc.constantFrom(...words), {maxLength: 30}).map(list => list.join(''));

test('fields keep their order, their case and their folding', t => {
  const fields = headersOf('Subject: a\r\n b\r\nX-One:1\r\nSUBJECT: c\r\n\r\nNot: a header\r\n');

  t.deepEqual(fields, [
    {name: 'Subject', value: ' a\r\n b'},
    {name: 'X-One', value: '1'},
    {name: 'SUBJECT', value: ' c'},
  ]);
  t.deepEqual(headerValues(fields, 'subject'), [' a\r\n b', ' c']);
});

test('a mail that begins with the blank line has no header', t => {
  t.deepEqual(read([Buffer.from('\r\nSubject: body\r\n')]), {fields: [], isDone: true, isTooLong: false});
});

test('a mail that ends within its header has the fields seen so far', t => {
  t.deepEqual(
    read([Buffer.from('Subject: a\r\nX-One: 1')]).fields.map(field => field.name),
    ['Subject', 'X-One'],
  );
});

test('a line that is no field is left out together with its folded lines', t => {
  const fields = headersOf('From somebody Mon\r\n folded\r\nX-Umläut: no\r\nTo : b@example.com\r\n\r\n');

  t.deepEqual(fields, [{name: 'To', value: ' b@example.com'}]);
});

test('a header block above the limit is flagged and gives whole fields only', t => {
  const bytes = Buffer.from(`A: 1\r\nB: ${'x'.repeat(100)}\r\n\r\nbody`);

  t.deepEqual(read([bytes], 50), {fields: [{name: 'A', value: ' 1', from: 0, to: 6}], isDone: true, isTooLong: true});
  t.false(read([bytes], 200).isTooLong);
});

test('how the bytes are cut makes no difference to the fields', t => {
  const blocks = pieces('A: 1', 'Bcd:', '\r\n', '\r\n', '\r', '\n', ' ', 'x', ':', '\u0000', 'é');
  fc.assert(
    fc.property(blocks, fc.array(fc.nat(), {maxLength: 12}), fc.integer({min: 1, max: 60}), (block, places, maxBytes) => {
      const bytes = Buffer.from(block);
      t.deepEqual(read(cutAt(bytes, places), maxBytes), read([bytes], maxBytes));
    }),
    {numRuns: 500},
  );
});

test('a chunk may be overwritten once it was pushed', t => {
  const reader = createHeaderReader();
  const chunk = Buffer.from('Subject: kept\r\n');

  reader.push(chunk);
  chunk.fill(0);

  t.is(subjectOf(reader.fields()), 'kept');
});

test('encoded words of every kind and raw UTF-8 become text', t => {
  const cases: [string, string][] = [
    [' plain ', 'plain'],
    ['a\r\n\tb', 'a\tb'],
    ['=?UTF-8?Q?Gr=C3=BC=C3=9Fe?=', 'Grüße'],
    ['=?utf-8*de?b?R3LDvMOfZQ==?=', 'Grüße'],
    ['=?ISO-8859-1?Q?caf=E9_au_lait?=', 'café au lait'],
    ['=?koi8-r?B?8NLJ18XU?=', 'Привет'],
    ['=?iso-2022-jp?B?GyRCRnxLXBsoQg==?=', '日本'],
    ['=?utf-8?q?one?=\r\n =?utf-8?q?two?=', 'onetwo'],
    ['=?utf-8?Q?=E2=82?= =?utf-8?Q?=AC?=', '€'],
    [Buffer.from('Zoë').toString('latin1'), 'Zoë'],
    ['caf\xe9', 'caf\ufffd'],
    ['=?utf-8?q?a=00b=0D=0Ac?=', 'ab c'],
    ['=?no-such-charset?q?abc?=', 'abc'],
  ];

  for (const [raw, text] of cases) t.is(decodeHeader(raw), text, raw);
});

test('a subject in several encoded words is put together again', t => {
  t.is(subjectOf(headersOf(sample('eight-bit.eml'))), 'Grüße aus Zürich und noch\tein Rest');
});

test('a mail without a subject has an empty one', t => {
  t.is(subjectOf(headersOf('From: a@example.net\r\n\r\n')), '');
});

test('decoding never throws and gives one well-formed line without NUL, whatever the bytes', t => {
  const words = pieces(
    ...['=?', '?=', '?', 'utf-8', 'utf-16', 'gb18030', 'x', 'Q', 'B', '=00', '=ED=A0=80', '=D8', 'AAAA', '=', '_'],
    ...[' ', '\t', '\r\n', '\n', '\u0000', '\xed\xa0\x80', '\xff', 'abc'],
  );
  const anyBytes = fc.uint8Array({maxLength: 200}).map(bytes => Buffer.from(bytes).toString('latin1'));
  fc.assert(
    fc.property(fc.oneof(words, anyBytes), fc.integer({min: 1, max: 40}), (value, maxChars) => {
      const text = decodeHeader(value, maxChars);
      t.true(text.length <= maxChars);
      t.notRegex(text, /[\0\r\n]|\p{Cs}/u);
    }),
    {numRuns: 1000},
  );
});

test('what was encoded in UTF-8 is decoded to itself', t => {
  const text = fc.string({unit: 'grapheme', maxLength: 60}).map(value => value.replace(/\s+/g, ' ').trim());
  fc.assert(
    fc.property(text, value => {
      t.is(decodeHeader(`=?utf-8?B?${Buffer.from(value).toString('base64')}?=`), value);
    }),
  );
});

test('a cut never splits a character outside the basic plane', t => {
  t.is(decodeHeader(Buffer.from('ab😀cd').toString('latin1'), 3), 'ab');
});

test('a header made to be slow is decoded', t => {
  const hostile = [
    '=?'.repeat(20_000),
    '=?utf-8?Q?'.repeat(5000),
    `=?utf-8?Q?${'= '.repeat(20_000)}?=`,
    '=?utf-8?B?=?= '.repeat(5000),
    ' \r\n'.repeat(20_000),
  ];

  for (const value of hostile) t.true(decodeHeader(value).length <= 4096);
});

test('of a header without measure only the first 32 KiB are decoded', t => {
  const word = '=?utf-8?q?=61?= ';
  const fit = (32 * 1024) / word.length;

  t.is(decodeHeader(word.repeat(fit + 1000), 100_000), 'a'.repeat(fit));
});

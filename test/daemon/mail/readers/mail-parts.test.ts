import test from 'ava';
import {partsOf} from '../../../../daemon/mail/readers/mail-parts.ts';

const texts = (lines: string[]): string[] => partsOf(Buffer.from(lines.join('\r\n'))).map(part => part.toString());

const multipart = 'Content-Type: multipart/mixed; charset=x;\r\n boundary="b 1"';

test('the parts of a mail are found at any depth, and neither preamble nor epilogue is one', t => {
  const mail = [
    ...[multipart, '', 'preamble', '--b 1', '', 'headless', '--b 1 \t'],
    ...[
      'Content-Type: Multipart/Related; boundary=b',
      '',
      '--b',
      'Content-Type: a/b',
      '',
      'deep',
      '--b 1 is none',
      '--b--',
      '',
      '--b 1',
    ],
    ...['Content-Type: message/rfc822', '', multipart, '', '--b 1--', 'epilogue', '--b 1', '', 'none'],
  ];

  t.deepEqual(texts(mail), ['headless', 'deep\r\n--b 1 is none', `${multipart}\r\n`]);
});

test('a mail without parts, or cut off anywhere, is read as far as it goes', t => {
  t.deepEqual(texts(['A: b', '', 'text']), ['text']);
  t.deepEqual(texts(['', 'text']), ['text']);
  t.deepEqual(texts(['A: b', '']), ['']);
  t.deepEqual(texts([]), ['']);
  t.deepEqual(texts([multipart, '', 'text']), []);
  t.deepEqual(texts([multipart, '', '--b 1', '', 'text']), ['text']);
  t.deepEqual(texts([multipart, '', '--b 1', '--b 1', '--b 1--']), ['', '']);
});

test('parts are decoded from base64 and quoted-printable', t => {
  const as = (encoding: string, ...body: string[]) => texts([`Content-Transfer-Encoding: ${encoding}`, '', ...body]);

  t.deepEqual(as('BASE64', 'dGV4', 'dA=='), ['text']);
  t.deepEqual(as('quoted-printable', '=74e=', 'xt=', '=3D'), ['text=']);
  t.deepEqual(as('8bit', '=74'), ['=74']);
});

test('a part that is all escapes is decoded, however large it is', t => {
  const [part] = partsOf(Buffer.from(`Content-Transfer-Encoding: quoted-printable\r\n\r\n${'=41'.repeat(5_000_000)}`));

  t.is(part?.length, 5_000_000);
  t.true(part?.every(byte => byte === 0x41));
});

test('a mail of too many parts, or too deep ones, is refused', t => {
  const level = (n: number) => [`Content-Type: multipart/mixed; boundary=<${n}>`, '', `--<${n}>`];
  const deep = (levels: number) => [...Array.from({length: levels}, (_, n) => level(n)).flat(), '', 'text'];

  t.is(texts([multipart, '', ...Array.from({length: 100}, () => '--b 1\r\n')]).length, 100);
  t.throws(() => texts([multipart, '', ...Array.from({length: 101}, () => '--b 1\r\n')]), {message: /too many parts/});
  t.deepEqual(texts(deep(4)), ['text']);
  t.throws(() => texts(deep(5)), {message: /too deeply/});
});

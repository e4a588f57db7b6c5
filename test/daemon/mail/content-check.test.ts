import test from 'ava';
import fc from 'fast-check';
import {type ContentReport, createContentChecker, testString} from '../../../daemon/mail/content-check.ts';
import {chunksOf, sample} from '../../helpers/received-mail.ts';

const check = (bytes: Buffer | string, chunkBytes = 1 << 20): ContentReport => {
  const checker = createContentChecker();
  for (const chunk of chunksOf(Buffer.from(bytes), chunkBytes)) checker.push(chunk);
  return checker.end();
};

const verdict = (bytes: string) => check(bytes).violation?.text.slice(0, 16);

test('the samples are fine', t => {
  for (const name of ['plain.eml', 'gtube.eml', 'eight-bit.eml', 'phishing.eml', 'from-upstream.eml'])
    t.is(check(sample(name)).violation, undefined, name);
});

test('bare CR, bare LF and NUL are refused', t => {
  t.is(verdict('A: 1\r\n\r\na\rb\r\n'), '5.6.0 Bare <CR> ');
  t.is(verdict('A: 1\r\n\r\na\r\r\nb\r\n'), '5.6.0 Bare <CR> ');
  t.is(verdict('A: 1\r\n\r\na\r'), '5.6.0 Bare <CR> ');
  t.is(verdict('A: 1\r\n\r\na\nb\r\n'), '5.6.0 Bare <LF> ');
  t.is(verdict('\nA: 1\r\n'), '5.6.0 Bare <LF> ');
  t.is(verdict('A: 1\r\n\r\na\0b\r\n'), '5.6.0 NUL in the');
  t.is(check('a\nb').violation?.code, 554);
});

test('a mail whose first line would continue the field in front of it is refused', t => {
  t.is(verdict(' ; dmarc=pass header.from=bank.test\r\nFrom: a@bank.test\r\n\r\n'), '5.6.0 The first ');
  t.is(verdict('\tx\r\n\r\na\nb'), '5.6.0 The first ');
  t.is(verdict('\r\n  a body without a header\r\n'), undefined);
  t.is(verdict('A: 1\r\n 2\r\n\r\n'), undefined);
});

test('the first violation is the one that is told', t => {
  t.is(verdict('a\0b\rc\nd\r\n'), '5.6.0 NUL in the');
  t.is(verdict('a\nb\0\r\n'), '5.6.0 Bare <LF> ');
});

test('a line may have 998 octets and no more, in header and body, with or without a last CRLF', t => {
  const longest = 'x'.repeat(998);

  t.is(verdict(`A: 1\r\n\r\n${longest}\r\n${longest}\r\n${longest}`), undefined);
  t.is(verdict(`A: 1\r\n\r\n${longest}x\r\n`), '5.6.0 Line over ');
  t.is(verdict(`A: 1\r\n\r\n${longest}x`), '5.6.0 Line over ');
  t.is(verdict(`A: ${longest}\r\n\r\n`), '5.6.0 Line over ');
});

test('fifty Received fields are a long way, fifty-one are a loop', t => {
  const hops = (count: number) => `${'received: from a by b; today\r\n'.repeat(count)}\r\nReceived: in the body\r\n`;

  t.is(check(hops(50)).violation, undefined);
  t.deepEqual(check(hops(51)).violation, {code: 554, text: '5.4.6 Too many Received header fields; routing loop detected'});
});

test('an empty mail is no violation', t => {
  t.deepEqual(check(''), {hasTestString: false, headers: [], strayLines: [], isHeaderTooLong: false});
});

test('the test string is found wherever the chunks end', t => {
  const bytes = sample('gtube.eml');

  for (let chunkBytes = 1; chunkBytes <= bytes.length; chunkBytes += 1) t.true(check(bytes, chunkBytes).hasTestString);
  t.false(check(sample('plain.eml')).hasTestString);
  t.false(check(testString.toLowerCase()).hasTestString);
  t.false(check(`${testString.slice(0, 30)}\r\n${testString.slice(30)}`).hasTestString);
});

test('the headers are those of the mail', t => {
  const {headers, isHeaderTooLong} = check(sample('plain.eml'), 7);

  t.deepEqual(
    headers.map(field => field.name),
    ['From', 'To', 'Subject', 'Date', 'Message-ID', 'MIME-Version', 'Content-Type'],
  );
  t.false(isHeaderTooLong);
  t.true(check(`${'X-Long: y\r\n'.repeat(30_000)}\r\n`).isHeaderTooLong);
});

test('how the bytes are cut makes no difference to the report', t => {
  const piece = fc.constantFrom(
    '\r\n',
    '\r\n',
    '\r\n\r\n',
    'Received: x',
    'x'.repeat(500),
    'x'.repeat(498),
    testString,
    '\r',
    '\n',
    '\0',
  );
  const rarely = fc.constantFrom('\r\n', 'A: b\r\n', 'x'.repeat(499), testString.slice(0, 40), testString.slice(40));
  const mails = fc.array(fc.oneof({weight: 1, arbitrary: piece}, {weight: 4, arbitrary: rarely}), {maxLength: 20});
  fc.assert(
    fc.property(mails, fc.integer({min: 1, max: 90}), (parts, chunkBytes) => {
      const mail = parts.join('');
      t.deepEqual(check(mail, chunkBytes), check(mail));
    }),
    {numRuns: 500},
  );
});

test('fifty megabytes of empty lines are no violation', t => {
  const chunk = Buffer.from('\r\n'.repeat(32 * 1024));
  const checker = createContentChecker();

  for (let sent = 0; sent < 50_000_000; sent += chunk.length) checker.push(chunk);

  t.is(checker.end().violation, undefined);
});

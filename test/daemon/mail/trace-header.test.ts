import test from 'ava';
import fc from 'fast-check';
import {traceHeader} from '../../../daemon/mail/trace-header.ts';
import {anyCharacter} from '../../helpers/any-character.ts';
import {headersOf, receivedMail} from '../../helpers/received-mail.ts';

const textOf = (...mail: Parameters<typeof receivedMail>): string =>
  traceHeader(receivedMail(...mail), 'mx1.example.com').toString('utf8');

test('one field says from where, by whom, how, as what, for whom and when', t => {
  t.is(
    textOf(),
    'Received: from mx.example.net (mx.example.net [192.0.2.5]) by mx1.example.com\r\n' +
      '\twith ESMTP id Q1w2E3r4T5 for <ben@example.com>;\r\n\tTue, 04 Nov 2025 08:12:45 +0000\r\n',
  );
});

test('an IPv6 client is tagged and a mapped one is an IPv4 client', t => {
  t.regex(textOf({client: {ip: '2001:db8::5'}}), / \[IPv6:2001:db8::5\]\)/);
  t.regex(textOf({client: {ip: '::ffff:192.0.2.5'}}), / \[192\.0\.2\.5\]\)/);
});

test('a client without a reverse name or a HELO is unknown', t => {
  t.regex(textOf({client: {hostname: null, helo: ''}}), /^Received: from unknown \(unknown \[192/);
});

test('recipients are told to nobody when there are several', t => {
  t.notRegex(textOf({envelope: {recipients: ['a@example.com', 'b@example.com']}}), /example\.com>| for /);
});

test('a recipient beyond ASCII stays in SMTPUTF8 mail only, and the name of a client in none', t => {
  const client = {helo: 'bücher.example'};
  const recipients = ['zoë@example.com'];

  t.regex(textOf({client, envelope: {recipients, isUtf8: true}}), /from b\?cher\.example.* for <zoë@example\.com>;/s);
  t.regex(textOf({client, envelope: {recipients, isUtf8: false}}), /from b\?cher\.example.* id Q1w2E3r4T5;/s);
});

test('whatever a client claims, it is one well-formed field with lines that are short enough', t => {
  const nasty = fc.array(
    fc.oneof(
      fc.string({unit: anyCharacter}),
      fc.constantFrom('\r\n', '\r\nSubject: x', '\0', '(', ')', '<', '>', ';', ' ', '"', '\u2028', '\ud800'),
    ),
    {maxLength: 20},
  );
  const text = nasty.map(parts => parts.join(''));
  const recipient = fc.oneof(
    text,
    text.map(local => `${local}@example.com`),
    text.map(local => `"${local}"@example.com`),
  );
  fc.assert(
    fc.property(text, text, text, recipient, fc.boolean(), (helo, hostname, protocol, to, isUtf8) => {
      const bytes = traceHeader(
        receivedMail({client: {helo, hostname, protocol}, envelope: {recipients: [to], isUtf8}}),
        'mx1.example.com',
      );

      t.deepEqual(
        headersOf(Buffer.concat([bytes, Buffer.from('\r\n')])).map(field => field.name),
        ['Received'],
      );
      const lines = bytes.toString('utf8').split('\r\n');
      t.is(lines.at(-1), '');
      t.true(lines.every(line => Buffer.byteLength(line) <= 998));
      t.notRegex(lines.join(''), isUtf8 ? /[\r\n\0]/ : /[^\t\x20-\x7e]/);
      t.regex(lines.join(''), /; ?\t?Tue, 04 Nov 2025 08:12:45 \+0000$/);
    }),
    {numRuns: 1000},
  );
});

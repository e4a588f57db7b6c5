import test from 'ava';
import fc from 'fast-check';
import {createLineReader, readMessage} from '../../../../daemon/mail/postfix-log/log-line.ts';

const now = Date.UTC(2026, 10, 27, 15);
const readLine = createLineReader(() => now);
const reading = (line: string) => readLine(line);
const message = (text: string, program = 'smtp') => readMessage({identifier: `postfix/${program}`, text, at: now});

const sent =
  '4jbbdM1j3hz1CjbZ: to=<ben@example.com>, relay=mx.example.com[192.0.2.5]:25, delay=9000.13, delays=9000/0.01/0.1/0.02, dsn=2.0.0, status=sent (250 OK: queued)';
const delivered = {
  kind: 'delivery',
  queueId: '4jbbdM1j3hz1CjbZ',
  event: 'sent',
  to: 'ben@example.com',
  originalTo: undefined,
  server: 'mx.example.com[192.0.2.5]:25',
  reply: '250 OK: queued',
  detail: '',
  tookMs: 120,
  isAmbiguous: false,
};

test('lines of syslog, of RFC 3339 and of postlogd are read, of Postfix under any name', t => {
  const at = new Date(2026, 10, 27, 14, 38, 47).getTime();

  t.deepEqual<unknown, unknown>(reading(`Nov 27 14:38:47 mx postfix/smtp[6805]: ${sent}`), {...delivered, at});
  t.deepEqual<unknown, unknown>(reading(`Nov 27 14:38:47 mx postfix-out/smtp[6805]: ${sent}`), {...delivered, at});
  t.deepEqual<unknown, unknown>(reading(`Nov 27 14:38:47 mx.example.org postfix/relay/smtp[1]: ${sent}`), {...delivered, at});
  t.deepEqual<unknown, unknown>(reading(`2026-11-27T14:38:47.123456+01:00 mx postfix/lmtp[6805]: ${sent}`), {
    ...delivered,
    at: Date.UTC(2026, 10, 27, 13, 38, 47, 123),
  });
  t.like(reading(`Nov  7 04:08:07 mx postfix/smtp[6805]: ${sent}`), {at: new Date(2026, 10, 7, 4, 8, 7).getTime()});
});

test('a time without a year is of the year before where it would lie ahead', t => {
  const onNewYear = createLineReader(() => new Date(2027, 0, 1, 0, 5).getTime());

  t.is(onNewYear(`Dec 31 23:59:58 mx postfix/smtp[1]: ${sent}`)?.at, new Date(2026, 11, 31, 23, 59, 58).getTime());
  t.is(onNewYear(`Jan  1 00:00:01 mx postfix/smtp[1]: ${sent}`)?.at, new Date(2027, 0, 1, 0, 0, 1).getTime());
});

test('the words of a server are told from those of Postfix', t => {
  const line = (relay: string, status: string, said: string) =>
    message(`4jbb1j3hz1: to=<a@b.test>, relay=${relay}, delay=1, delays=0/0/1/0, dsn=4.0.0, status=${status} (${said})`);

  t.like(line('mx[192.0.2.5]:25', 'bounced', 'host mx[192.0.2.5] said: 550 5.1.1 no (such) user (in reply to RCPT TO command)'), {
    event: 'bounced',
    server: 'mx[192.0.2.5]:25',
    reply: '550 5.1.1 no (such) user',
    detail: 'in reply to RCPT TO command',
  });
  t.like(line('none', 'deferred', 'connect to mx[192.0.2.5]:25: Connection refused'), {
    event: 'postponed',
    server: null,
    reply: null,
    detail: 'connect to mx[192.0.2.5]:25: Connection refused',
  });
  t.like(line('mx[192.0.2.5]:25', 'deferred', 'lost connection with mx[192.0.2.5] while sending RCPT TO'), {
    server: null,
    reply: null,
  });
  t.like(line('other[192.0.2.6]:25', 'bounced', 'host mx[192.0.2.5] said: 550 no'), {server: null, reply: null});
  t.like(line('host[private/dovecot-lmtp]', 'sent', '250 2.0.0 <a@b.test> Saved'), {server: 'host[private/dovecot-lmtp]'});
  t.like(line('local', 'sent', 'delivered to mailbox'), {
    event: 'sent',
    server: null,
    reply: null,
    detail: 'delivered to mailbox',
  });
  t.like(line('mx[192.0.2.5]:25', 'SOFTBOUNCE', 'host mx[192.0.2.5] said: 550 no'), {event: 'postponed', reply: '550 no'});
  t.is(line('mx[192.0.2.5]:25', 'deliverable', '250 ok'), undefined);
});

test('the recipient before aliases, the connection that was used again and parts of later versions are no hindrance', t => {
  const line =
    '4jbb1j3hz1: to=<carl@b.test>, orig_to=<ben@b.test>, relay=mx[192.0.2.5]:25, conn_use=2, delay=0.5, delays=0/0/0.5/0, tls=verified, dsn=2.0.0, status=sent (250 ok)';

  t.like(message(line), {to: 'carl@b.test', originalTo: 'ben@b.test', tookMs: 500});
});

test('mail that Postfix gives up, and the next queue id of one that is queued anew, are read', t => {
  t.deepEqual<unknown, unknown>(message('4jbb1j3hz1: from=<a@b.test>, status=expired, returned to sender', 'qmgr'), {
    kind: 'expired',
    queueId: '4jbb1j3hz1',
    at: now,
  });
  t.like(message('4jbb1j3hz1: from=<>, status=force-expired, returned to sender', 'qmgr'), {kind: 'expired'});
  t.like(message('4jbbdW6FTZz1ClMK: uid=102 from=<a@b.test> orig_id=4jbbdT4SwWz1ClLM', 'pickup'), {
    kind: 'requeued',
    queueId: '4jbbdW6FTZz1ClMK',
    formerId: '4jbbdT4SwWz1ClLM',
  });
});

test('what clients, senders and servers write into a line makes no other line of it', t => {
  const forged = 'relay=h[1.2.3.4]:25, delay=1, delays=0/0/1/0, dsn=2.0.0, status=sent (250 ok)';
  const real = 'relay=mx[192.0.2.5]:25, delay=1, delays=0/0/1/0, dsn=5.0.0, status=bounced (host mx[192.0.2.5] said: 550 no)';

  // A quoted local part.
  t.like(message(`4jbb1j3hz1: to=<"a>, ${forged}"@b.test>, ${real}`), {event: 'bounced', reply: '550 no'});
  t.like(message(`4jbb1j3hz1: to=<"a\\">, ${forged}"@b.test>, ${real}`), {event: 'bounced', reply: '550 no'});
  // The same without its quotes, as old versions write it.
  t.like(message(`4jbb1j3hz1: to=<a@b.test>, ${forged}@b.test>, ${real}`), {isAmbiguous: true});
  t.like(message(`4jbb1j3hz1: to=<a@b.test>, orig_to=<a>, ${forged}@b.test>, ${real}`), {isAmbiguous: true});
  // A reply.
  t.like(message(`4jbb1j3hz1: to=<a@b.test>, ${real.replace('550 no', `550 no: 5jbb1j3hz1: to=<v@b.test>, ${forged}`)}`), {
    queueId: '4jbb1j3hz1',
    to: 'a@b.test',
    event: 'bounced',
  });
  t.is(message(`connect from x: 4jbb1j3hz1: to=<a@b.test>, ${forged}`), undefined);
  t.is(message(`NOQUEUE: reject: helo=<4jbb1j3hz1: to=<a@b.test>, ${forged}>`), undefined);
  t.is(message('4jbb1j3hz1: from=<a>, status=expired, returned to sender>, size=1, nrcpt=1 (queue active)', 'qmgr'), undefined);
  t.is(message('4jbb1j3hz1: uid=0 from=<a> orig_id=5jbb1j3hz1>', 'pickup'), undefined);
  t.is(reading(`Nov 27 14:38:47 mx postfix/smtpd[1]: ${sent}`), undefined);
  t.is(reading(`Nov 27 14:38:47 mx smtp[1]: ${sent}`), undefined);
  t.is(reading(`Nov 27 14:38:47 mx app[1]: postfix/smtp[1]: ${sent}`), undefined);
  t.is(reading(` Nov 27 14:38:47 mx postfix/smtp[1]: ${sent}`), undefined);
});

test('control characters of a server are marked, and long texts are cut', t => {
  const line = message(sent.replace('250 OK: queued', `250 \u001b[31m\u0000\u2028${'x'.repeat(5000)}`));

  t.like(line, {reply: `250 \ufffd[31m\ufffd\ufffd${'x'.repeat(989)}…`});
  t.is(message(sent.replace('OK', 'x'.repeat(20_000))), undefined);
});

test('a line that was cut is read as far as it goes, and is ambiguous, as one that may have been cut is', t => {
  const refused = `4jbb1j3hz1: to=<a@b.test>, relay=mx[192.0.2.5]:25, delay=1, delays=0/0/1/0, dsn=5.0.0, status=bounced (host mx[192.0.2.5] said: 550 `;
  const address = `a@b.test>, relay=h[1.2.3.4]:25, delay=1, delays=0/0/1/0, dsn=2.0.0, status=sent (250 ${'x'.repeat(900)})`;

  t.like(message(`${refused}no, as`), {event: 'bounced', server: 'mx[192.0.2.5]:25', reply: '550 no, as…', isAmbiguous: true});
  t.is(
    message('4jbb1j3hz1: to=<a@b.test>, relay=mx[192.0.2.5]:25, delay=1, delays=0/0/1/0, dsn=5.0.0, status=bounced'),
    undefined,
  );
  t.like(message(`4jbb1j3hz1: to=<${address}`), {event: 'sent', isAmbiguous: true});
  t.like(message(`${refused}no)`), {isAmbiguous: false});
});

test('no text makes the parser fail', t => {
  const part = fc.oneof(
    fc.constantFrom(
      'to=<',
      '>',
      ', ',
      'orig_to=<',
      'relay=',
      'delay=1',
      'delays=0/0/1/0',
      'status=sent',
      ' (',
      ')',
      '"',
      '\\',
      '@',
      '4jbb1j3hz1: ',
    ),
    fc.string({maxLength: 5}),
  );
  fc.assert(
    fc.property(fc.array(part, {maxLength: 40}), parts => {
      message(parts.join(''));
      reading(`Nov 27 14:38:47 mx postfix/smtp[1]: ${parts.join('')}`);
    }),
  );
  t.pass();
});

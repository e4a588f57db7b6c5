// Dialogues of a hostile SMTP client: valid ones with invalid commands inserted between, before and into their commands.
import type {Random} from './random.ts';

export interface SmtpStep {
  bytes: Buffer;
}

const addresses = [
  ...'<ada@example.net> <ben@example.com> <ben@EXAMPLE.com> <> <postmaster> <a@b@c>'.split(' '),
  '<"quoted string"@example.com>',
  '<"a\\"b"@example.com>',
  '<@relay.test:ben@example.com>',
  '<b@y.org> <c@z.org>',
  '<ben@[127.0.0.1]>',
  '<ben@[IPv6:::1]>',
  '<ben@exämple.com>',
  '<b\u0000en@example.com>',
  '<ben@example.com',
  'ben@example.com',
  '<ben@.example.com>',
  `<${'x'.repeat(65)}@example.com>`,
  `<a@${'label.'.repeat(60)}com>`,
  '<ben@other.test>',
  '<ben%other.test@example.com>',
  '<other.test!ben@example.com>',
  '<ben@example.com.>',
  '<ben@__proto__>',
];

const mailParameters = [
  '',
  '',
  '',
  ' SIZE=100',
  ' SIZE=99999999999999999999',
  ' SIZE=-1',
  ' SIZE=x',
  ' SIZE=1e3',
  ' BODY=8BITMIME',
  ' BODY=7BIT',
  ' BODY=BINARYMIME',
  ' SMTPUTF8',
  ' SMTPUTF8=1',
  ' RET=FULL ENVID=x',
  ' AUTH=<>',
  ' __proto__=1',
  ' =',
  ' SIZE=1 SIZE=2',
];

const otherCommands = [
  'RSET',
  'NOOP',
  'NOOP with words',
  'VRFY ben',
  'EXPN staff',
  'HELP',
  'AUTH PLAIN AGEAYQ==',
  'AUTH LOGIN',
  'STARTTLS',
  'STARTTLS now',
  'XCLIENT ADDR=127.0.0.1 LOGIN=root',
  'XFORWARD ADDR=127.0.0.1',
  'BDAT 10 LAST',
  'TURN',
  'SEND FROM:<a@b.test>',
  'GET / HTTP/1.1',
  'PROXY TCP4 127.0.0.1 127.0.0.1 1 2',
  'DATA now',
  'QUIT later',
  'constructor',
  '__proto__',
  'toString a',
  '',
  ' ',
  '.',
];

const ends = ['\r\n', '\r\n', '\r\n', '\r\n', '\r\n', '\n', '\r', '\r\n\r\n', '\0\r\n', ''];

const headers = [
  'Subject: hi',
  'Subject: =?utf-8?B?////?=',
  'Subject:',
  ' folded before anything',
  'From: "a" <a@b.test>, <c@d.test>',
  'X-Spam-Score: 9',
  'X-Spam-Score: 1e999',
  'X-Spam-Score: NaN',
  'X-Spam-Status: Yes, score=99',
  'Received: from x by y; Thu, 1 Jan 1970 00:00:00 +0000',
  'Content-Type: multipart/mixed; boundary=x',
  'Content-Type: multipart/mixed; boundary=',
  'Content-Type: text/plain; charset=utf-7; name*0*=x',
  'Message-ID: <a@b>',
  'Message-ID: <a@b>\r\nMessage-ID: <c@d>',
  'Date: never',
  'no colon here',
  ': nothing',
  'DKIM-Signature: v=1; a=rsa-sha256; d=example.com; s=x; h=from; b=x',
  '\0',
  'X-\u00e9: \u00ff\u00fe',
];

/** Sequences that one server reads as the end of a mail and another does not. */
const dots = [
  '\r\n.\r\n',
  '\r\n.\r\n',
  '\r\n.\r\n',
  '\r\n.\r\n',
  '\n.\n',
  '\r.\r',
  '\r\n.\n',
  '\n.\r\n',
  '\r\n.\r',
  '\r\n..\r\n',
  '.',
];

export const smtpSteps = (random: Random): SmtpStep[] => {
  const steps: string[] = random.chance(0.9) ? [greeting(random)] : [];
  const length = random.between(1, 20);
  while (steps.length < length) {
    if (random.chance(0.55)) steps.push(...transaction(random));
    else steps.push(anything(random));
  }
  return steps.map(text => ({bytes: Buffer.from(text, 'latin1')}));
};

const greeting = (random: Random): string => {
  const verb = random.pick(['EHLO', 'EHLO', 'HELO', 'ehlo', 'LHLO']);
  const name = random.pick(['client.test', '[127.0.0.1]', '', 'x'.repeat(300), 'a b', 'caf\u00e9', '-', '\0', '(comment)']);
  return `${verb} ${name}\r\n`;
};

/** A mail that may be accepted, unless a part of it is altered. */
const transaction = (random: Random): string[] => {
  const bent = <T>(right: T, others: readonly T[]): T => (random.chance(0.75) ? right : random.pick(others));
  const steps = [`MAIL FROM:${bent('<ada@example.net>', addresses)}${bent('', mailParameters)}\r\n`];
  for (let count = random.pick([1, 1, 1, 2, 30]); count > 0; count -= 1)
    steps.push(`RCPT TO:${bent('<ben@example.com>', addresses)}${bent('', ['', ' NOTIFY=NEVER', ' ORCPT=x'])}\r\n`);
  if (random.chance(0.1)) steps.splice(random.between(0, steps.length - 1), 1);
  if (random.chance(0.1)) steps.push(anything(random));
  steps.push(random.chance(0.95) ? 'DATA\r\n' : 'data\r\nDATA\r\n');
  steps.push(`${content(random)}${random.pick(dots)}`);
  return random.chance(0.1) ? [steps.join('')] : steps;
};

const content = (random: Random): string => {
  if (random.chance(0.05)) return random.bytes(random.between(0, 2000)).toString('latin1');
  const lines = Array.from({length: random.between(0, 6)}, () => random.pick(headers));
  if (random.chance(0.01)) lines.push(...Array.from({length: 60}, () => 'Received: from a by b'));
  if (random.chance(0.01)) lines.push(`X-Long: ${'x'.repeat(random.pick([997, 998, 999, 5000, 70_000]))}`);
  return `${lines.join('\r\n')}\r\n\r\n${bodyOf(random)}`;
};

const bodyOf = (random: Random): string => {
  const kind = random.next();
  if (kind < 0.6) return 'body\r\n..dot\r\nmore';
  if (kind < 0.7) return 'bare\nline\rfeeds';
  if (kind < 0.75) return 'nul\0in it';
  if (kind < 0.8) return 'XJS*C4JDBQADN1.NSBN3*2IDNEN*GTUBE-STANDARD-ANTI-UBE-TEST-EMAIL*C.34X';
  if (kind < 0.82) return `${'--x\r\n'.repeat(2000)}--x--`;
  if (kind < 0.84) return 'x'.repeat(random.pick([998, 999, 1001, 60_000]));
  if (kind < 0.845) return `${'0123456789abcdef'.repeat(60)}\r\n`.repeat(300);
  return `--x\r\nContent-Type: message/rfc822\r\n\r\n${random.bytes(random.between(0, 300)).toString('latin1')}\r\n--x--`;
};

const anything = (random: Random): string => {
  const kind = random.next();
  if (kind < 0.5) return `${random.pick(otherCommands)}${random.pick(ends)}`;
  if (kind < 0.6) return random.bytes(random.between(1, 300)).toString('latin1');
  if (kind < 0.63)
    return `${random.pick(['MAIL FROM:<', 'RCPT TO:<', 'NOOP ', 'X'])}${'a'.repeat(random.pick([500, 5000, 100_000]))}\r\n`;
  if (kind < 0.7) return `${Array.from({length: random.between(2, 30)}, () => random.pick(otherCommands)).join('\r\n')}\r\n`;
  if (kind < 0.75) return '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03';
  if (kind < 0.85) return `MAIL FROM:${random.pick(addresses)}${random.pick(mailParameters)}${random.pick(ends)}`;
  if (kind < 0.95) return `RCPT TO:${random.pick(addresses)}${random.pick(ends)}`;
  return greeting(random);
};

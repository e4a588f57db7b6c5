// Input for a milter and a lookup table that a Postfix would never send.
import {netstring} from '../../daemon/mail/socketmap/socketmap-server.ts';
import {frame, framesOf, offered, texts, uint32} from '../helpers/milter.ts';
import type {Random} from './random.ts';

const letters = [...'ODCHMRTLNBEUAKQSxyz\0\xff'];

const addresses = [
  'ben@example.com',
  'ben@EXAMPLE.com',
  'x@other.test',
  '',
  '<>',
  '@',
  'a@b@c',
  '"a b"@example.com',
  '\ufffd',
  'x'.repeat(5000),
];

const values = [
  '',
  ' hi',
  ' 99',
  ' NaN',
  ' Yes, score=99',
  '\r\n injected: yes',
  '\0',
  ' \u00ff',
  'y'.repeat(3000),
  ' =?utf-8?B?////?=',
];

const headerNames = [
  'Subject',
  'X-Spam-Score',
  'X-Spam-Status',
  'Received',
  'From',
  '',
  'A B',
  '\0',
  'x'.repeat(500),
  '__proto__',
];

/** Some mails on one connection; each is an input. */
export const milterBytes = (random: Random): {bytes: Buffer; inputs: number} => {
  const inputs = random.between(1, 6);
  const frames: Buffer[] = random.chance(0.97) ? [negotiation(random), connection(random)] : [];
  for (let left = inputs; left > 0; left -= 1) frames.push(...mail(random));
  return {bytes: broken(random, frames), inputs};
};

const negotiation = (random: Random): Buffer => {
  if (random.chance(0.9)) return frame('O', uint32(offered.version, offered.actions, offered.protocol));
  return frame(
    'O',
    random.chance(0.5)
      ? uint32(random.between(0, 9), random.between(0, 0x1ff), random.between(0, 0x1f_ffff))
      : random.bytes(random.between(0, 20)),
  );
};

const connection = (random: Random): Buffer => {
  const ip = random.chance(0.8) ? '192.0.2.5' : random.pick(['127.0.0.1', 'IPv6:::1', '999.1.1.1', '', 'x']);
  const family = random.chance(0.9) ? '4' : random.pick(['6', 'L', 'U', 'x', '']);
  return Buffer.concat([
    frame('C', texts('mx.example.net'), family, Buffer.from([0x30, 0x39]), texts(ip)),
    frame('H', texts('mx.example.net')),
  ]);
};

/** A valid dialogue with commands removed, doubled, moved and inserted. */
const mail = (random: Random): Buffer[] => {
  const bent = (right: string, others: readonly string[]) => (random.chance(0.8) ? right : random.pick(others));
  const body = random.chance(0.02) ? random.bytes(70_000) : random.bytes(random.between(0, 200));
  const {start, recipients, data, content, end} = framesOf({
    from: bent('ada@example.net', addresses),
    to: Array.from({length: random.pick([0, 1, 1, 1, 2, 5])}, () => bent('ben@example.com', addresses)),
    queueId: random.chance(0.9)
      ? `4h${random.between(100_000, 999_999)}`
      : random.pick([null, '', '../../x', '\u00e9', 'x'.repeat(300), 'ALL', '-']),
    headers: Array.from({length: random.between(0, 4)}, (): [string, string] => [
      bent('Subject', headerNames),
      bent(' hi', values),
    ]),
    body,
    macros: random.chance(0.2) ? ['{auth_authen}', random.pick(['', 'user', '\u0000'])] : [],
    parameters: random.chance(0.2) ? [random.pick(['SIZE=1', 'SMTPUTF8', 'BODY=8BITMIME', 'x'.repeat(2000), ''])] : [],
  });
  const frames: Buffer[] = [start, ...recipients, data, content, end];
  for (let changes = random.chance(0.6) ? random.between(1, 4) : 0; changes > 0; changes -= 1) {
    const at = random.between(0, frames.length - 1);
    const kind = random.between(0, 4);
    if (kind === 0) frames.splice(at, 1);
    else if (kind === 1) frames.splice(at, 0, Buffer.from(frames[at] ?? end));
    else if (kind === 2) frames.push(...frames.splice(at, 1));
    else frames.splice(at, 0, Buffer.from(anyFrame(random)));
    if (frames.length === 0) frames.push(end);
  }
  return frames;
};

const anyFrame = (random: Random): Buffer => {
  const kind = random.next();
  if (kind < 0.5) return frame(random.pick(letters), random.bytes(random.between(0, 40)));
  if (kind < 0.6) return frame(random.pick(letters));
  if (kind < 0.7) return frame(random.pick(['A', 'K', 'T', 'N', 'E', 'Q']));
  if (kind < 0.8)
    return frame('D', random.pick(letters), texts(...Array.from({length: random.between(0, 7)}, () => random.pick(values))));
  if (kind < 0.9) return frame('B', random.bytes(random.between(0, 500)));
  return Buffer.concat([
    uint32(random.pick([0, 1, 0x7fff_ffff, 0xffff_ffff, 1024 * 1024, 1024 * 1024 + 1, 2])),
    random.bytes(random.between(0, 30)),
  ]);
};

const broken = (random: Random, frames: Buffer[]): Buffer => {
  const bytes = Buffer.concat(frames);
  for (let times = random.chance(0.15) ? random.between(1, 4) : 0; times > 0; times -= 1)
    bytes[random.between(0, bytes.length - 1)] = random.between(0, 255);
  return random.chance(0.15) ? bytes.subarray(0, random.between(1, bytes.length)) : bytes;
};

const tables = [
  'relay_domains',
  'transport_maps',
  'relay_recipient_maps',
  'nothing',
  '',
  '__proto__',
  'constructor',
  'x'.repeat(1000),
  '\0',
];

/** Lookups on one connection; each is an input. */
export const socketmapBytes = (random: Random): {bytes: Buffer; inputs: number} => {
  const inputs = random.between(1, 12);
  const requests = Array.from({length: inputs}, () => lookup(random));
  const bytes = Buffer.concat(requests);
  return {bytes: random.chance(0.1) ? bytes.subarray(0, random.between(1, bytes.length)) : bytes, inputs};
};

const lookup = (random: Random): Buffer => {
  const kind = random.next();
  if (kind < 0.8) return netstring(`${random.pick(tables)} ${random.pick(addresses)}`);
  if (kind < 0.9) return netstring(random.bytes(random.between(0, 300)).toString('latin1'));
  return Buffer.from(
    random.pick([
      ...'5:hello 99999999999:x, -1:, :, 05:hello, 5;hello, 0:, 100001:x'.split(' '),
      `${'9'.repeat(5000)}`,
      '4:a b,5:',
      '\0\0\0',
    ]),
    'latin1',
  );
};

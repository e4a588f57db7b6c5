// A name server for scanners, which look up many names: a silent resolver costs them seconds per mail.
import {createSocket} from 'node:dgram';
import type {Owner} from './daemon.ts';

/** The IPv4 address of a name in lower case; undefined for a name that does not exist. */
export type KnownNames = (name: string) => string | undefined;

/** Answers NXDOMAIN to everything by default, on loopback, until the test ends. Resolves with its UDP port. */
export const startDnsStub = async (t: Owner, addressOf: KnownNames = () => undefined): Promise<number> => {
  const socket = createSocket('udp4');
  socket.on('message', (query, from) => {
    const answer = answerTo(query, addressOf);
    if (answer) socket.send(answer, from.port, from.address);
  });
  t.teardown(() => new Promise<void>(resolve => socket.close(() => resolve())));
  await new Promise<void>(resolve => socket.bind(0, '127.0.0.1', resolve));
  return socket.address().port;
};

/** RFC 1035 section 4.1: one question, and one answer or none. */
const answerTo = (query: Buffer, addressOf: KnownNames): Buffer | undefined => {
  const labels: string[] = [];
  let at = 12;
  while (at < query.length && query[at] !== 0) {
    const end = at + 1 + (query[at] ?? 0);
    labels.push(query.toString('latin1', at + 1, end));
    at = end;
  }
  const end = at + 5;
  if (end > query.length) return undefined;

  const address = addressOf(labels.join('.').toLowerCase());
  const isAsked = query.readUInt16BE(at + 1) === typeA;
  const answer = Buffer.from(query.subarray(0, end));
  // QR, RD, RA; and NXDOMAIN, or no error.
  answer.writeUInt16BE(address === undefined ? 0x81_83 : 0x81_80, 2);
  answer.fill(0, 6, 12);
  if (address === undefined || !isAsked) return answer;
  answer.writeUInt16BE(1, 6);
  const record = Buffer.from([0xc0, 0x0c, 0, typeA, 0, 1, 0, 0, 0, 60, 0, 4, ...address.split('.').map(Number)]);
  return Buffer.concat([answer, record]);
};

const typeA = 1;

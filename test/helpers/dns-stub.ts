// A name server that knows no name: scanners ask a lot of names, and a mute resolver costs them seconds per mail.
import {createSocket} from 'node:dgram';
import type {ExecutionContext} from 'ava';

/** Answers NXDOMAIN to everything, on loopback, until the test ends. Resolves with its UDP port. */
export const startDnsStub = async (t: ExecutionContext): Promise<number> => {
  const socket = createSocket('udp4');
  socket.on('message', (query, from) => {
    const end = endOfQuestion(query);
    if (end === undefined) return;

    const answer = Buffer.from(query.subarray(0, end));
    // QR, RD, RA and NXDOMAIN; one question, nothing else (RFC 1035 section 4.1.1).
    answer.writeUInt16BE(0x81_83, 2);
    answer.fill(0, 6, 12);
    socket.send(answer, from.port, from.address);
  });
  t.teardown(() => new Promise<void>(resolve => socket.close(() => resolve())));
  await new Promise<void>(resolve => socket.bind(0, '127.0.0.1', resolve));
  return socket.address().port;
};

const endOfQuestion = (query: Buffer): number | undefined => {
  let at = 12;
  while (at < query.length && query[at] !== 0) at += (query[at] ?? 0) + 1;
  return at + 5 <= query.length ? at + 5 : undefined;
};

// A name server with the records given by a test, and NXDOMAIN for everything else.
import {createSocket} from 'node:dgram';
import {isIPv4} from 'node:net';
import type {Owner} from './daemon.ts';

/** By name in lower case: names for PTR, addresses for A and AAAA, `10 mx.test` for MX, and any text for TXT. */
export type Zone = Record<string, Partial<Record<ZoneType, string[]>>>;
type ZoneType = 'PTR' | 'A' | 'AAAA' | 'MX' | 'TXT';

export interface DnsZone {
  /** `HOST:PORT`. */
  server: string;
  /** Received queries, such as `A mx.test`. */
  questions: string[];
}

const types: Record<number, ZoneType> = {1: 'A', 12: 'PTR', 15: 'MX', 16: 'TXT', 28: 'AAAA'};

/**
 * Serves `zone` over UDP on loopback until the test ends; without a zone the server is mute. `isMute`: whether it ignores a question,
 * such as `TXT example.test`, or `undefined .` for the root.
 */
export const startDnsZone = async (
  t: Owner,
  zone?: Zone,
  isMute: (question: string) => boolean = () => false,
): Promise<DnsZone> => {
  const socket = createSocket('udp4');
  const questions: string[] = [];
  socket.on('message', (query, from) => {
    const {name, end} = questionIn(query);
    const type = types[query.readUInt16BE(end - 4)];
    questions.push(`${type} ${name}`);
    if (!zone || isMute(`${type} ${name}`)) return;
    const data = (type && zone[name]?.[type]) ?? [];
    const answer = Buffer.from(query.subarray(0, end));
    // QR, RD, RA; and NXDOMAIN, or no error.
    answer.writeUInt16BE(zone[name] ? 0x81_80 : 0x81_83, 2);
    answer.fill(0, 6, 12);
    answer.writeUInt16BE(data.length, 6);
    const records = data.map(text => recordOf(query.readUInt16BE(end - 4), dataOf(text, type)));
    socket.send(Buffer.concat([answer, ...records]), from.port, from.address);
  });
  t.teardown(() => new Promise<void>(resolve => socket.close(() => resolve())));
  await new Promise<void>(resolve => socket.bind(0, '127.0.0.1', resolve));
  return {server: `127.0.0.1:${socket.address().port}`, questions};
};

/** RFC 1035 section 4.1.2: the name, and the offset at which the only question ends. */
const questionIn = (query: Buffer): {name: string; end: number} => {
  const labels: string[] = [];
  let at = 12;
  while (query[at] !== 0) {
    const end = at + 1 + (query[at] ?? 0);
    labels.push(query.toString('latin1', at + 1, end));
    at = end;
  }
  return {name: labels.join('.').toLowerCase(), end: at + 5};
};

const recordOf = (type: number, data: Buffer): Buffer => {
  const head = Buffer.from([0xc0, 0x0c, 0, 0, 0, 1, 0, 0, 0, 60, 0, 0]);
  head.writeUInt16BE(type, 2);
  head.writeUInt16BE(data.length, 10);
  return Buffer.concat([head, data]);
};

const dataOf = (text: string, type: string | undefined): Buffer => {
  if (type === 'PTR') return nameOf(text);
  if (type === 'TXT') return Buffer.concat((text.match(/.{1,255}/gs) ?? ['']).map(labelOf));
  if (type === 'MX') {
    const [preference = '0', exchange = ''] = text.split(' ');
    return Buffer.concat([Buffer.from([0, Number(preference)]), nameOf(exchange)]);
  }
  return isIPv4(text) ? Buffer.from(text.split('.').map(Number)) : bytesOfIpv6(text);
};

const nameOf = (name: string): Buffer => Buffer.concat([...name.split('.').map(labelOf), Buffer.from([0])]);

const labelOf = (label: string): Buffer => Buffer.concat([Buffer.from([label.length]), Buffer.from(label, 'latin1')]);

const bytesOfIpv6 = (text: string): Buffer => {
  const [head = [], tail = []] = text.split('::').map(part => (part === '' ? [] : part.split(':')));
  const groups = [...head, ...Array(8 - head.length - tail.length).fill('0'), ...tail];
  return Buffer.from(groups.map(group => group.padStart(4, '0')).join(''), 'hex');
};

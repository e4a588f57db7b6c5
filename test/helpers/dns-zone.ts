// A name server with the records given by a test, and NXDOMAIN for everything else.
import {createSocket} from 'node:dgram';
import {isIPv4} from 'node:net';
import type {Owner} from './daemon.ts';

/** By name in lower case: names for PTR, addresses for A and AAAA, `10 mx.test` for MX, and any text for TXT. */
export type Zone = Record<string, ZoneRecords>;
export type ZoneRecords = Partial<Record<ZoneType, string[]>>;
type ZoneType = 'PTR' | 'A' | 'AAAA' | 'MX' | 'TXT';

export interface DnsZone {
  /** `HOST:PORT`. */
  server: string;
  /** Received queries, such as `A mx.test`. */
  questions: string[];
}

const types: Record<number, ZoneType> = {1: 'A', 12: 'PTR', 15: 'MX', 16: 'TXT', 28: 'AAAA'};

/**
 * Serves `zone` over UDP on loopback until the test ends; without a zone the server is silent. `isMute`: whether it ignores a question,
 * such as `TXT example.test`, or `undefined .` for the root.
 */
export const startDnsZone = async (
  t: Owner,
  zone?: Zone | ((name: string) => ZoneRecords | undefined),
  isMute: (question: string) => boolean = () => false,
): Promise<DnsZone> => {
  const socket = createSocket('udp4');
  const questions: string[] = [];
  socket.on('message', (query, from) => {
    const question = questionIn(query);
    const {name, type} = question;
    questions.push(`${type} ${name}`);
    if (!zone || isMute(`${type} ${name}`)) return;
    const records = typeof zone === 'function' ? zone(name) : zone[name];
    socket.send(answerOf(query, question, records), from.port, from.address);
  });
  t.teardown(() => new Promise<void>(resolve => socket.close(() => resolve())));
  await new Promise<void>(resolve => socket.bind(0, '127.0.0.1', resolve));
  return {server: `127.0.0.1:${socket.address().port}`, questions};
};

export interface Question {
  /** In lower case. */
  name: string;
  type: ZoneType | undefined;
  /** The offset at which it ends. */
  end: number;
}

/** The only question (RFC 1035 section 4.1.2). */
export const questionIn = (query: Buffer): Question => {
  const labels: string[] = [];
  let at = 12;
  while (query[at] !== 0) {
    const end = at + 1 + (query[at] ?? 0);
    labels.push(query.toString('latin1', at + 1, end));
    at = end;
  }
  return {name: labels.join('.').toLowerCase(), type: types[query.readUInt16BE(at + 1)], end: at + 5};
};

/** Without records: the name does not exist. */
export const answerOf = (query: Buffer, {type, end}: Question, records: ZoneRecords | undefined): Buffer => {
  const data = (type && records?.[type]) ?? [];
  const answer = data.map(text => recordOf(query.readUInt16BE(end - 4), dataOf(text, type)));
  return Buffer.concat([headOf(query, end, {code: records ? 0 : nameError, count: data.length}), ...answer]);
};

export const nameError = 3;

interface Head {
  code?: number;
  count?: number;
  isTruncated?: boolean;
}

/** The header and the question of an answer, with the numbers of its RCODE and of its records. */
export const headOf = (query: Buffer, end: number, {code = 0, count = 0, isTruncated = false}: Head): Buffer => {
  const head = Buffer.from(query.subarray(0, end));
  // QR, RD, RA.
  head.writeUInt16BE(0x81_80 | code | (isTruncated ? 0x02_00 : 0), 2);
  head.fill(0, 6, 12);
  head.writeUInt16BE(count, 6);
  return head;
};

/** A record of the name that was asked for. */
export const recordOf = (type: number, data: Buffer): Buffer => {
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

export const nameOf = (name: string): Buffer => Buffer.concat([...name.split('.').map(labelOf), Buffer.from([0])]);

const labelOf = (label: string): Buffer => Buffer.concat([Buffer.from([label.length]), Buffer.from(label, 'latin1')]);

const bytesOfIpv6 = (text: string): Buffer => {
  const [head = [], tail = []] = text.split('::').map(part => (part === '' ? [] : part.split(':')));
  const groups = [...head, ...Array(8 - head.length - tail.length).fill('0'), ...tail];
  return Buffer.from(groups.map(group => group.padStart(4, '0')).join(''), 'hex');
};

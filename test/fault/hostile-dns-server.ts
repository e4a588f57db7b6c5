// A name server of domains whose owners use it as a weapon. The name of a domain says how: `n1.mute.test` is never answered.
import {createSocket} from 'node:dgram';
import {createServer, type Socket} from 'node:net';
import {setTimeout as delay} from 'node:timers/promises';
import type {Owner} from '../helpers/daemon.ts';
import {answerOf, headOf, nameError, nameOf, type Question, questionIn, recordOf, type ZoneRecords} from '../helpers/dns-zone.ts';
import {createRandom} from './random.ts';

interface Asked {
  query: Buffer;
  question: Question;
  isOverTcp: boolean;
}

/** The answer; undefined for none. Over TCP the connection is closed then. */
type Answering = (asked: Asked) => Buffer | undefined | Promise<Buffer | undefined>;

export interface HostileDns {
  /** `HOST:PORT`, the same for UDP and TCP. */
  server: string;
  /** Number of questions to each kind of domain. */
  questions: Map<string, number>;
}

/** `honest`: the records of all other domains. */
export const startHostileDns = async (owner: Owner, honest: (name: string) => ZoneRecords | undefined): Promise<HostileDns> => {
  const questions = new Map<string, number>();
  const answer = async (query: Buffer, isOverTcp: boolean): Promise<Buffer | undefined> => {
    const question = questionIn(query);
    const kind = question.name.split('.').at(-2) ?? '';
    const answering = weapons.get(kind);
    if (!answering) return answerOf(query, question, honest(question.name));
    questions.set(kind, (questions.get(kind) ?? 0) + 1);
    return answering({query, question, isOverTcp});
  };

  let isClosed = false;
  const udp = createSocket('udp4');
  udp.on('message', async (query, {port, address}) => {
    const bytes = await answer(query, false);
    // The node may have closed its port, and this server may be closed: neither is a failure of the node.
    if (bytes && !isClosed) udp.send(bytes, port, address, () => undefined);
  });
  const sockets = new Set<Socket>();
  const tcp = createServer(socket => {
    sockets.add(socket.on('close', () => sockets.delete(socket)).on('error', () => undefined));
    let received = Buffer.alloc(0);
    socket.on('data', async chunk => {
      received = Buffer.concat([received, chunk]);
      while (received.length >= 2 && received.length >= 2 + received.readUInt16BE()) {
        const query = received.subarray(2, 2 + received.readUInt16BE());
        received = received.subarray(2 + query.length);
        const bytes = await answer(query, true);
        if (bytes) socket.write(Buffer.concat([uint16(bytes.length), bytes]));
        else socket.destroy();
      }
    });
  });
  owner.teardown(async () => {
    isClosed = true;
    const closed = [new Promise<void>(resolve => udp.close(resolve)), new Promise<unknown>(resolve => tcp.close(resolve))];
    for (const socket of sockets) socket.destroy();
    await Promise.all(closed);
  });
  await new Promise<void>(resolve => tcp.listen(0, '127.0.0.1', resolve));
  const {port} = tcp.address() as {port: number};
  await new Promise<void>(resolve => udp.bind(port, '127.0.0.1', resolve));
  return {server: `127.0.0.1:${port}`, questions};
};

const slowMs = 5000;
/** A message of DNS has at most 64 KB. */
const hugeBytes = 60_000;

const uint16 = (value: number): Buffer => Buffer.from([value >> 8, value & 255]);

/** `more`: in place of what a record of SPF, DMARC or a key would say there. */
const recordText = ({name}: Question, more: string): string => {
  if (name.startsWith('_dmarc.')) return `v=DMARC1; p=reject; rua=${more}`;
  if (name.includes('_domainkey.')) return `v=DKIM1; k=rsa; p=${more}`;
  return `v=spf1 ${more} -all`;
};

const typeNumbers = {A: 1, PTR: 12, MX: 15, TXT: 16, AAAA: 28};
const cname = 5;

const plainText = ({query, question}: Asked, more: string): Buffer =>
  answerOf(query, question, {TXT: [recordText(question, more)], A: ['192.0.2.9'], MX: [`10 mx.${question.name}`]});

/** Over UDP: come again over TCP. */
const overTcp =
  (answering: Answering): Answering =>
  asked =>
    asked.isOverTcp ? answering(asked) : headOf(asked.query, asked.question.end, {isTruncated: true});

const withCode =
  (code: number): Answering =>
  ({query, question}) =>
    headOf(query, question.end, {code});

/** As many records as fit into a message. */
const many = ({query, question}: Asked): Buffer => {
  const {type = 'TXT', name, end} = question;
  const data = (n: number): Buffer => {
    if (type === 'A') return Buffer.from([192, 0, 2, n & 255]);
    if (type === 'AAAA') return Buffer.alloc(16, n);
    if (type === 'TXT') return Buffer.from(`\x08v=spf1 ${n % 10}`);
    const target = nameOf(`m${n}.${name.split('.').slice(-2).join('.')}`);
    return type === 'MX' ? Buffer.concat([uint16(n), target]) : target;
  };
  const records = Array.from({length: 2000}, (_, n) => recordOf(typeNumbers[type], data(n)));
  return Buffer.concat([headOf(query, end, {count: records.length}), ...records]);
};

const nonsense = ({query, question: {name, type = 'TXT', end}}: Asked): Buffer => {
  const random = createRandom('nonsense', name, type);
  const records = Array.from({length: random.between(1, 5)}, () => {
    const record = recordOf(typeNumbers[type], random.bytes(random.between(0, 40)));
    // A length that is wrong, or a name that points to itself.
    if (random.chance(0.3)) record.writeUInt16BE(random.between(0, 65_535), 10);
    if (random.chance(0.3)) record.writeUInt16BE(0xc0_00 | end, 0);
    return record;
  });
  const answer = Buffer.concat([headOf(query, end, {count: random.between(0, 9)}), ...records]);
  if (random.chance(0.3)) answer.writeUInt16BE(random.between(0, 65_535), random.pick([2, 4, 6, 8, 10]));
  return answer.subarray(0, random.chance(0.3) ? random.between(12, answer.length) : answer.length);
};

const alias = ({query, question}: Asked, target: string): Buffer =>
  Buffer.concat([headOf(query, question.end, {count: 1}), recordOf(cname, nameOf(target))]);

const weapons = new Map<string, Answering>(
  Object.entries<Answering>({
    mute: () => undefined,
    // A policy, and nothing that tells whether a mail meets it.
    half: asked => (asked.question.name.startsWith('_dmarc.') ? plainText(asked, 'mailto:x@half.test') : undefined),
    slow: async asked => {
      await delay(slowMs, undefined, {ref: false});
      return plainText(asked, 'mx');
    },
    servfail: withCode(2),
    refused: withCode(5),
    huge: overTcp(asked => plainText(asked, 'x'.repeat(hugeBytes))),
    many: overTcp(many),
    hangup: overTcp(() => undefined),
    nonsense,
    nowhere: asked => {
      const answer = plainText(asked, 'mx');
      answer.writeUInt16BE(answer.readUInt16BE(2) | nameError, 2);
      return answer;
    },
    self: asked => alias(asked, asked.question.name),
    chain: asked => {
      const [first = '', ...rest] = asked.question.name.split('.');
      return alias(
        asked,
        [`c${(Number(/^c(\d+)$/.exec(first)?.[1]) || 0) + 1}`, ...(first.startsWith('c') ? rest : [first, ...rest])].join('.'),
      );
    },
    // Each includes two more, that include two more.
    include: asked => {
      const {name} = asked.question;
      const domain = name.split('.').slice(-3).join('.');
      return plainText(asked, ['a', 'b'].map(letter => `include:${letter}${name.length}.${domain} include:${name}`).join(' '));
    },
    lookups: asked =>
      plainText(asked, `ptr mx a exists:%{ir}.%{l}.many.test ${'include:x.mute.test '.repeat(20)}redirect=x.slow.test`),
    proto: asked => plainText(asked, '__proto__.x=1; __proto__=1; constructor.prototype.get=1; s=__proto__'),
  }),
);

export const weaponNames = [...weapons.keys()];

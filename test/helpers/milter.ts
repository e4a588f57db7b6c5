// A milter with services replaced by an object that a test can change, and the other end of it: Postfix's side of the protocol.
import {readdir} from 'node:fs/promises';
import {connect, type Socket} from 'node:net';
import {buffer} from 'node:stream/consumers';
import type {LocalAddress} from '../../daemon/mail/local-listener.ts';
import type {IntakePort, Verdict} from '../../daemon/mail/mail-decision.ts';
import {type MilterServer, type MilterServerNeeds, startMilterServer} from '../../daemon/mail/milter/milter-connection.ts';
import type {ReceivedMail} from '../../daemon/services/intake/mail.ts';
import type {Owner} from './daemon.ts';
import {createFakeIntake, judgement, lateBound} from './gateway.ts';
import {testFolder} from './test-folder.ts';

export interface TestMilter extends MilterServer {
  /** The services; a test replaces those that it needs. */
  intake: IntakePort;
  /** Everything that was judged, and everything held, with its content. */
  judged: {mail: ReceivedMail; content: string}[];
  held: ReceivedMail[];
  verdicts: Verdict[];
  logged: string[];
  /** Names of the files that are in the folder for big mails at this moment. */
  spilled(): Promise<string[]>;
}

/** Everything scores 0 and passes. Listens on loopback. */
export const startTestMilter = async (owner: Owner, needs: Partial<MilterServerNeeds> = {}): Promise<TestMilter> => {
  const tmpDir = await testFolder(owner);
  const record = {judged: [], held: [], verdicts: [], logged: []} as Pick<TestMilter, 'judged' | 'held' | 'verdicts' | 'logged'>;
  const intake: IntakePort = {
    ...createFakeIntake({held: [], judged: [], verdicts: record.verdicts}),
    judge: async mail => {
      record.judged.push({mail, content: (await buffer(mail.content.open())).toString('latin1')});
      return judgement('relay');
    },
    hold: async mail => void record.held.push(mail),
  };
  const log = (fields: object, message: string) =>
    void record.logged.push(
      `${message} ${JSON.stringify(fields, (_, value) => (value instanceof Error ? value.message : value))}`,
    );

  const server = await startMilterServer({
    listen: {host: '127.0.0.1', port: 0},
    maxSize: 100_000_000,
    maxConnections: 100,
    isTrusted: () => false,
    intake: lateBound(intake),
    tmpDir,
    log: {info: log, warn: log, error: log},
    ...needs,
  });
  owner.teardown(server.stop);
  return {...server, ...record, intake, spilled: async () => readdir(tmpDir)};
};

export interface MilterAnswer {
  letter: string;
  data: Buffer;
}

export const frame = (letter: string, ...parts: (string | Buffer)[]): Buffer => {
  const data = Buffer.concat(parts.map(part => Buffer.from(part as string)));
  const length = Buffer.alloc(4);
  length.writeUInt32BE(data.length + 1);
  return Buffer.concat([length, Buffer.from(letter), data]);
};

/** Texts in the protocol's form: each with a NUL at its end. */
export const texts = (...values: string[]): string => values.map(value => `${value}\0`).join('');

export const uint32 = (...values: number[]): Buffer => {
  const bytes = Buffer.alloc(4 * values.length);
  for (const [n, value] of values.entries()) bytes.writeUInt32BE(value, 4 * n);
  return bytes;
};

/** The options that Postfix 3.7 offers. */
export const offered = {version: 6, actions: 0x1ff, protocol: 0x1f_ffff};

export interface MilterMailParts {
  from?: string;
  parameters?: string[];
  to?: string[];
  queueId?: string | null;
  headers?: [name: string, value: string][];
  body?: string | Buffer;
  macros?: string[];
}

/** Frames of one mail in Postfix's order. An empty `to` leaves out the frames before the content. */
export const framesOf = (mail: MilterMailParts) => {
  const {from = 'ada@example.net', to = ['ben@one.test'], queueId = '4jX9jr51JCzJFFG', headers = [['Subject', ' hi']]} = mail;
  const {body = 'text\r\n', parameters = [], macros = []} = mail;
  const id = queueId === null ? [] : ['i', queueId];
  const bytes = Buffer.from(body as string);
  const chunks = Array.from({length: Math.ceil(bytes.length / 65_535)}, (_, n) => bytes.subarray(n * 65_535, (n + 1) * 65_535));
  return {
    start: Buffer.concat([frame('D', 'M', texts('{mail_addr}', from, ...macros)), frame('M', texts(`<${from}>`, ...parameters))]),
    recipients: to.map(rcpt => Buffer.concat([frame('D', 'R', texts('{rcpt_addr}', rcpt)), frame('R', texts(`<${rcpt}>`))])),
    data: Buffer.concat([frame('D', 'T', texts(...id)), frame('T')]),
    content: Buffer.concat([
      ...headers.flatMap(([name, value]) => [frame('D', 'L', texts(...id)), frame('L', texts(name, value))]),
      ...chunks.flatMap(chunk => [frame('D', 'B', texts(...id)), frame('B', chunk)]),
    ]),
    end: Buffer.concat([frame('D', 'E', texts(...id)), frame('E')]),
  };
};

export interface MilterPeer {
  write(bytes: Buffer): void;
  /** Resolves with the next answer; rejects when the milter closes. */
  answer(): Promise<MilterAnswer>;
  /** Answers up to a final one: continue, accept, discard, or a reply code. */
  decision(): Promise<MilterAnswer[]>;
  /**
   * The whole dialogue of one mail. Resolves with the answers to its recipients, and with the answer to its end or the answer
   * that ended it earlier.
   */
  mail(parts?: MilterMailParts): Promise<{recipients: MilterAnswer[]; answers: MilterAnswer[]}>;
  /** The dialogue up to the content. */
  untilContent(parts?: MilterMailParts): Promise<void>;
  /** Bytes that could not be sent yet. */
  unsentBytes(): number;
  closed: Promise<unknown>;
  destroy(): void;
}

/** Connects as Postfix does for a client at 192.0.2.5, unless the test sends the first frames itself. */
export const connectPeer = async (address: LocalAddress, {isSilent = false} = {}): Promise<MilterPeer> => {
  const socket: Socket = connect({...address, noDelay: true});
  const answers = createAnswerReader(socket);
  const closed = new Promise(resolve => socket.once('close', resolve));
  const write = (bytes: Buffer) => void socket.write(bytes);
  const decision = async () => {
    const all: MilterAnswer[] = [];
    do all.push(await answers.next());
    while (!'cayd'.includes(all.at(-1)?.letter ?? ''));
    return all;
  };

  const envelope = async (parts: MilterMailParts): Promise<MilterAnswer[]> => {
    const {start, recipients} = framesOf(parts);
    write(start);
    const replies: MilterAnswer[] = [];
    for (const recipient of recipients) {
      write(recipient);
      replies.push(await answers.next());
    }
    return replies;
  };

  if (!isSilent) {
    write(frame('O', uint32(offered.version, offered.actions, offered.protocol)));
    await answers.next();
    write(frame('C', texts('mx.example.net'), '4', Buffer.from([0x30, 0x39]), texts('192.0.2.5')));
    write(frame('H', texts('mx.example.net')));
  }
  return {
    write,
    answer: answers.next,
    decision,
    async mail(parts = {}) {
      const {data, content, end} = framesOf(parts);
      const recipients = await envelope(parts);
      write(data);
      const first = await answers.next();
      if (first.letter !== 'c') return {recipients, answers: [first]};
      write(Buffer.concat([content, end]));
      return {recipients, answers: await decision()};
    },
    async untilContent(parts = {}) {
      await envelope(parts);
      write(framesOf(parts).data);
      await answers.next();
    },
    unsentBytes: () => socket.writableLength,
    closed,
    destroy: () => socket.destroy(),
  };
};

/** The text of a reply code, such as `550 5.7.1 …`. */
export const replyText = ({letter, data}: MilterAnswer): string => (letter === 'y' ? data.toString().slice(0, -1) : letter);

const createAnswerReader = (socket: Socket) => {
  let buffered = Buffer.alloc(0);
  let failure: Error | undefined;
  const ready: MilterAnswer[] = [];
  const waiting: {resolve(answer: MilterAnswer): void; reject(error: Error): void}[] = [];

  socket.on('data', (chunk: Buffer) => {
    buffered = Buffer.concat([buffered, chunk]);
    for (let size = sizeOf(buffered); size !== undefined; size = sizeOf(buffered)) {
      const answer = {letter: String.fromCharCode(buffered[4] ?? 0), data: buffered.subarray(5, 4 + size)};
      buffered = buffered.subarray(4 + size);
      const next = waiting.shift();
      if (next) next.resolve(answer);
      else ready.push(answer);
    }
  });
  socket.on('error', () => undefined);
  socket.on('close', () => {
    failure = new Error('the milter closed the connection');
    for (const {reject} of waiting.splice(0)) reject(failure);
  });

  return {
    next: async (): Promise<MilterAnswer> => {
      const answer = ready.shift();
      if (answer) return answer;
      if (failure) throw failure;
      return new Promise((resolve, reject) => waiting.push({resolve, reject}));
    },
  };
};

const sizeOf = (bytes: Buffer): number | undefined => {
  const size = bytes.length >= 4 ? bytes.readUInt32BE(0) : undefined;
  return size !== undefined && bytes.length >= 4 + size ? size : undefined;
};

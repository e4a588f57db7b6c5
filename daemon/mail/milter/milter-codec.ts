// Codec of the milter protocol of Sendmail 8. A frame is its length (32 bits, big-endian), a letter and data; texts end in NUL.
// There is no standard: this follows the behaviour of libmilter and Postfix.

export interface Negotiation {
  version: number;
  /** Bits: actions that a milter may perform on a mail. */
  actions: number;
  /** Bits: messages that are omitted. */
  protocol: number;
}

export type MilterCommand =
  | ({kind: 'negotiate'} & Negotiation)
  /** Macros for the next command with the letter `stage`. */
  | {kind: 'macros'; stage: string; macros: Map<string, string>}
  | {kind: 'connect'; hostname: string; family: string; port: number; address: string}
  | {kind: 'helo'; name: string}
  /** `address` as in the SMTP command, mostly in angle brackets. */
  | {kind: 'mail'; address: string; parameters: string[]}
  | {kind: 'rcpt'; address: string; parameters: string[]}
  /** One character per byte (latin1); LF separates the lines of a folded value. */
  | {kind: 'header'; name: string; value: string}
  | {kind: 'body'; chunk: Buffer}
  | {kind: 'end-of-body'; chunk: Buffer}
  | {[Kind in BareKind]: {kind: Kind}}[BareKind];

type BareKind = 'data' | 'end-of-header' | 'unknown' | 'abort' | 'quit' | 'quit-connection';

export type CommandOf<Kind extends MilterCommand['kind']> = Extract<MilterCommand, {kind: Kind}>;

export type MilterReply =
  /** `macros`: names of the wanted macros, by the number of the stage. */
  | ({kind: 'negotiate'; macros: [stage: number, names: string][]} & Negotiation)
  /** `discard`: Postfix says that it has taken the mail, and drops it. */
  | {kind: 'continue' | 'accept' | 'discard'}
  /** `text` begins with an enhanced status code of the same class as `code`, which Postfix requires. */
  | {kind: 'reply'; code: number; text: string}
  | {kind: 'add-header'; name: string; value: string}
  /** Inserts before the field at `index`, counted from 0. */
  | {kind: 'insert-header'; index: number; name: string; value: string}
  /** Changes the `index`th field of this name, counted from 1; an empty value removes it. */
  | {kind: 'change-header'; index: number; name: string; value: string}
  | {kind: 'quarantine'; reason: string};

/** The peer violates the protocol, or uses an unsupported version: the connection has to end. */
export class MilterError extends Error {}

/** Postfix sends at most 64 KiB of a body at once, and header fields up to its header_size_limit (100 KiB). */
const maxFrameBytes = 1024 * 1024;
const lengthBytes = 4;

export const createCommandReader = () => {
  // One buffer that grows by doubling: if a peer sent single bytes, a list of chunks would take a hundred times their size.
  let buffer: Buffer = Buffer.alloc(0);
  let start = 0;
  let end = 0;

  return {
    get bufferedBytes(): number {
      return end - start;
    },
    push(bytes: Buffer): void {
      const neededBytes = end - start + bytes.length;
      if (end + bytes.length > buffer.length) {
        const larger = neededBytes > buffer.length ? Buffer.allocUnsafe(Math.max(4096, neededBytes * 2)) : buffer;
        buffer.copy(larger, 0, start, end);
        buffer = larger;
        start = 0;
        end = neededBytes - bytes.length;
      }
      bytes.copy(buffer, end);
      end += bytes.length;
    },
    /** The next complete command. Throws MilterError. */
    next(): MilterCommand | undefined {
      if (end - start < lengthBytes) return undefined;
      const sizeBytes = buffer.readUInt32BE(start);
      if (sizeBytes === 0 || sizeBytes > maxFrameBytes) throw new MilterError(`a frame of ${sizeBytes} bytes`);
      const from = start + lengthBytes;
      if (end < from + sizeBytes) return undefined;

      start = from + sizeBytes;
      const command = parseCommand(String.fromCharCode(buffer[from] ?? 0), buffer.subarray(from + 1, start));
      if (start === end) {
        start = 0;
        end = 0;
        // An idle connection should keep almost no memory.
        if (buffer.length > keptBytes) buffer = Buffer.alloc(0);
      }
      return command;
    },
  };
};

const keptBytes = 16 * 1024;

/** The result shares no memory with `data`. */
const parseCommand = (letter: string, data: Buffer): MilterCommand => {
  switch (letter) {
    case 'O':
      return parseNegotiation(data);
    case 'D':
      return parseMacros(data);
    case 'C':
      return parseConnect(data);
    case 'H':
      return {kind: 'helo', name: textsIn(data, letter, 1)[0] ?? ''};
    case 'M':
    case 'R': {
      const [address = '', ...parameters] = textsIn(data, letter);
      return {kind: letter === 'M' ? 'mail' : 'rcpt', address, parameters};
    }
    case 'L': {
      const [name = '', value = ''] = textsIn(data, letter, 2, 'latin1');
      return {kind: 'header', name, value};
    }
    case 'B':
      return {kind: 'body', chunk: Buffer.from(data)};
    case 'E':
      return {kind: 'end-of-body', chunk: Buffer.from(data)};
    case 'U':
      return {kind: 'unknown'};
    default:
      return parseBare(letter, data);
  }
};

const bareCommands = {T: 'data', N: 'end-of-header', A: 'abort', Q: 'quit', K: 'quit-connection'} as const;

const parseBare = (letter: string, data: Buffer): MilterCommand => {
  const kind = Object.hasOwn(bareCommands, letter) ? bareCommands[letter as keyof typeof bareCommands] : undefined;
  if (kind === undefined) throw new MilterError(`no command of the protocol: ${JSON.stringify(letter)}`);
  if (data.length > 0) throw new MilterError(`data after the command ${letter}`);
  return {kind};
};

const parseNegotiation = (data: Buffer): MilterCommand => {
  if (data.length < 12) throw new MilterError('a negotiation that is too short');
  return {kind: 'negotiate', version: data.readUInt32BE(0), actions: data.readUInt32BE(4), protocol: data.readUInt32BE(8)};
};

const parseMacros = (data: Buffer): MilterCommand => {
  if (data.length === 0) throw new MilterError('macros without a stage');
  const texts = textsIn(data.subarray(1), 'D');
  if (texts.length % 2 !== 0) throw new MilterError('a macro without a value');
  const macros = new Map<string, string>();
  for (let n = 0; n < texts.length; n += 2) macros.set(texts[n] ?? '', texts[n + 1] ?? '');
  return {kind: 'macros', stage: String.fromCharCode(data[0] ?? 0), macros};
};

/** Host name, NUL, family; unless the family is unknown (`U`), also port (16 bits), address, NUL. */
const parseConnect = (data: Buffer): MilterCommand => {
  const end = data.indexOf(0);
  if (end === -1 || data.length < end + 2) throw new MilterError('a client without its address');
  const hostname = data.toString('utf8', 0, end);
  const family = String.fromCharCode(data[end + 1] ?? 0);
  if (family === 'U') return {kind: 'connect', hostname, family, port: 0, address: ''};

  if (!'46L'.includes(family) || data.length < end + 4) throw new MilterError('a client with an address of no known family');
  const [address = ''] = textsIn(data.subarray(end + 4), 'C', 1);
  return {kind: 'connect', hostname, family, port: data.readUInt16BE(end + 2), address};
};

/** Reads texts that each end in NUL; throws unless there are exactly `count`, when given. */
const textsIn = (data: Buffer, letter: string, count?: number, encoding: 'utf8' | 'latin1' = 'utf8'): string[] => {
  if (data.length > 0 && data.at(-1) !== 0) throw new MilterError(`a text without an end in the command ${letter}`);
  const texts = data.toString(encoding).split('\0').slice(0, -1);
  if (count !== undefined && texts.length !== count) throw new MilterError(`${texts.length} texts in the command ${letter}`);
  if ((letter === 'M' || letter === 'R') && texts.length === 0) throw new MilterError(`no address in the command ${letter}`);
  return texts;
};

/** Encodes all replies to one command in one buffer: with several writes, Nagle's algorithm would wait for an acknowledgement. */
export const encodeReplies = (replies: readonly MilterReply[]): Buffer => Buffer.concat(replies.map(encodeReply));

const encodeReply = (reply: MilterReply): Buffer => {
  switch (reply.kind) {
    case 'negotiate':
      return frame('O', [
        ...[reply.version, reply.actions, reply.protocol].map(uint32),
        ...reply.macros.flatMap(([stage, names]) => [uint32(stage), text(names)]),
      ]);
    case 'continue':
      return frame('c', []);
    case 'accept':
      return frame('a', []);
    case 'discard':
      return frame('d', []);
    case 'reply':
      // The peer uses the text as a format string.
      return frame('y', [text(`${reply.code} ${printable(reply.text).replaceAll('%', '%%')}`)]);
    case 'add-header':
      return frame('h', [text(reply.name), foldedText(reply.value)]);
    case 'insert-header':
      return frame('i', [uint32(reply.index), text(reply.name), foldedText(reply.value)]);
    case 'change-header':
      return frame('m', [uint32(reply.index), text(reply.name), foldedText(reply.value)]);
    case 'quarantine':
      return frame('q', [text(printable(reply.reason))]);
    default:
      return reply satisfies never;
  }
};

const frame = (letter: string, parts: Buffer[]): Buffer => {
  const data = Buffer.concat(parts);
  return Buffer.concat([uint32(data.length + 1), Buffer.from(letter, 'latin1'), data]);
};

const uint32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
};

/** Replaces NUL and characters above U+00FF: one byte is written per character, and a NUL would end the text. */
const text = (value: string): Buffer => Buffer.from(`${value.replace(/[^\x01-\xff]/g, '?')}\0`, 'latin1');

const foldedText = (value: string): Buffer => text(value.replaceAll('\r\n', '\n'));

const printable = (value: string): string => value.replace(/[^\x20-\x7e]+/g, ' ');

// Bytes from an SMTP client, read as command lines and as the content of mails.

const [CR, LF, DOT] = [0x0d, 0x0a, 0x2e];
const empty = Buffer.alloc(0);

/** Without its end. RFC 5321 section 4.5.3.1.4: 512 octets, and more with parameters and long addresses. */
const maxLineBytes = 4096;

/** A client whose unread bytes are more than this is paused. */
const maxUnreadBytes = 64 * 1024;

export class LineTooLong extends Error {}

export interface SmtpInput {
  /** Takes the next bytes from the client. */
  push(chunk: Buffer): void;
  /** Nothing more will come. Unread bytes are dropped: nobody would hear the reply to them. */
  end(): void;
  /** Bytes have come that nobody has read. */
  hasUnread(): boolean;
  /** Somebody waits for bytes from the client. */
  isWaiting(): boolean;
  /**
   * The next line, without its end. Skips what was not read of the content before it. Resolves with undefined after the end of the
   * input; rejects with LineTooLong.
   */
  line(): Promise<Buffer | undefined>;
  /** Begins the content that follows DATA: without dot-stuffing, up to the final dot. Rejects when the input ends before it. */
  content(): AsyncIterable<Buffer>;
}

interface Flow {
  pause(): void;
  resume(): void;
}

export const createSmtpInput = ({pause, resume}: Flow): SmtpInput => {
  let unread: Buffer = empty;
  let isEnded = false;
  let isPaused = false;
  let wake: (() => void) | undefined;
  /** The content that is being read. */
  let content: ContentState | undefined;

  const more = (): Promise<void> =>
    new Promise(resolve => {
      wake = resolve;
      if (isPaused) resume();
      isPaused = false;
    });
  const wakeUp = (): void => {
    const waiting = wake;
    wake = undefined;
    waiting?.();
  };

  const nextContent = async (): Promise<Buffer | undefined> => {
    while (content) {
      const part = readContent(unread, content);
      unread = part.rest;
      content = part.state;
      if (part.bytes.length > 0) return part.bytes;
      if (!content || isEnded) return undefined;
      await more();
    }
    return undefined;
  };

  async function* contentParts(): AsyncGenerator<Buffer> {
    for (let bytes = await nextContent(); bytes; bytes = await nextContent()) yield bytes;
    if (content) throw new Error('the client is gone');
  }

  return {
    push(chunk) {
      if (isEnded) return;
      unread = unread.length === 0 ? chunk : Buffer.concat([unread, chunk]);
      if (wake) wakeUp();
      else if (!isPaused && unread.length > maxUnreadBytes) {
        isPaused = true;
        pause();
      }
    },
    end() {
      isEnded = true;
      unread = empty;
      wakeUp();
    },
    hasUnread: () => unread.length > 0,
    isWaiting: () => wake !== undefined,
    async line() {
      while (!isEnded && content) await nextContent();
      while (!isEnded) {
        const end = unread.indexOf(LF);
        const line = withoutCr(end < 0 ? unread : unread.subarray(0, end));
        if (line.length > maxLineBytes) throw new LineTooLong('Line too long');
        if (end >= 0) {
          unread = unread.subarray(end + 1);
          return line;
        }
        await more();
      }
      return undefined;
    },
    content() {
      content = 'at-line-start';
      return contentParts();
    },
  };
};

const withoutCr = (line: Buffer): Buffer => (line.at(-1) === CR ? line.subarray(0, -1) : line);

/** What the content ended with so far: a CRLF, a CR, or anything else. */
export type ContentState = 'at-line-start' | 'after-cr' | 'within-line';

export interface ContentPart {
  bytes: Buffer;
  /** Of what was given: the beginning of a line that is not complete enough to be read; after the end, what follows it. */
  rest: Buffer;
  /** Undefined at the end of the content. */
  state: ContentState | undefined;
}

const dotAtLineStart = Buffer.from('\r\n.');

/**
 * Reads content as it comes over the wire: a dot at the beginning of a line is dropped, and a line with one dot is the end (RFC 5321
 * section 4.5.2). Only CRLF ends a line: other servers find the end of a mail, and then commands, where none is ("SMTP smuggling").
 */
export const readContent = (given: Buffer, before: ContentState): ContentPart => {
  const dot = firstDot(given, before);
  if (dot < 0) return {bytes: given, rest: empty, state: stateAfter(given, before)};
  // Byte by byte: a call for each line takes ten times as long where all lines are short and begin with a dot.
  const bytes = Buffer.allocUnsafe(given.length);
  let length = given.copy(bytes, 0, 0, dot);
  let state = 'at-line-start' as ContentState;
  for (let at = dot; at < given.length; at += 1) {
    const byte = given[at] ?? 0;
    if (state === 'at-line-start' && byte === DOT) {
      const [next, afterNext] = [given[at + 1], given[at + 2]];
      if (next === undefined || (next === CR && afterNext === undefined))
        return {bytes: bytes.subarray(0, length), rest: given.subarray(at), state};
      if (next === CR && afterNext === LF)
        return {bytes: bytes.subarray(0, length), rest: given.subarray(at + 3), state: undefined};
      state = 'within-line';
    } else {
      bytes[length] = byte;
      length += 1;
      state = stateAfterByte(byte, state);
    }
  }
  return {bytes: bytes.subarray(0, length), rest: empty, state};
};

const stateAfterByte = (byte: number, before: ContentState): ContentState => {
  if (byte === CR) return 'after-cr';
  return byte === LF && before === 'after-cr' ? 'at-line-start' : 'within-line';
};

const firstDot = (given: Buffer, before: ContentState): number => {
  if (before === 'at-line-start' && given[0] === DOT) return 0;
  if (before === 'after-cr' && given[0] === LF && given[1] === DOT) return 1;
  const found = given.indexOf(dotAtLineStart);
  return found < 0 ? -1 : found + 2;
};

const stateAfter = (given: Buffer, before: ContentState): ContentState => {
  const [last, beforeLast] = [given.at(-1), given.at(-2)];
  if (last === undefined) return before;
  return stateAfterByte(last, beforeLast === undefined ? before : beforeLast === CR ? 'after-cr' : 'within-line');
};

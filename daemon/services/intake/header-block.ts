// The header block of a mail: read while the bytes come in, and decoded for people and filters. Everything here is hostile.
import {decodeWords} from 'postal-mime';
import type {HeaderField} from './mail.ts';

const defaultMaxHeaderBytes = 256 * 1024;

export interface HeaderReader {
  /** Takes the next bytes of the mail; those behind the header block cost nothing. */
  push(chunk: Buffer): void;
  /** The blank line was seen, or the block is too long: no further bytes are looked at. */
  readonly isDone: boolean;
  /** The block is longer than `maxBytes`; only its complete fields within them are known. */
  readonly isTooLong: boolean;
  /** What was read so far, in order. Lines that are no field (RFC 5322 section 2.2) are left out. */
  fields(): HeaderField[];
}

const blankLine = Buffer.from('\r\n\r\n');

/** Reads a header block from chunks of any size, up to the blank line that ends it. Lines end in CRLF. */
export const createHeaderReader = ({maxBytes = defaultMaxHeaderBytes} = {}): HeaderReader => {
  // The pretended line end in front lets a mail without any header end at its first line.
  let tail: Buffer = Buffer.from('\r\n');
  const chunks: Buffer[] = [];
  let sizeBytes = 0;
  let state: 'reading' | 'complete' | 'too long' = 'reading';

  const collect = (chunk: Buffer) => {
    const room = maxBytes - sizeBytes;
    if (chunk.length > room) state = 'too long';
    // A copy: the caller's chunk may be a slice of a much larger buffer, or be written to again.
    chunks.push(Buffer.from(chunk.subarray(0, room)));
    sizeBytes += Math.min(chunk.length, room);
  };

  const push = (chunk: Buffer) => {
    if (state !== 'reading' || chunk.length === 0) return;

    const seen = Buffer.concat([tail, chunk.subarray(0, maxBytes + blankLine.length)]);
    const end = seen.indexOf(blankLine);
    if (end === -1) {
      collect(chunk);
      tail = seen.subarray(-(blankLine.length - 1));
      return;
    }
    collect(chunk.subarray(0, Math.max(0, end + blankLine.length - tail.length)));
    if (state === 'reading') state = 'complete';
  };

  return {
    push,
    get isDone() {
      return state !== 'reading';
    },
    get isTooLong() {
      return state === 'too long';
    },
    fields: () => parseFields(Buffer.concat(chunks).toString('latin1'), state === 'too long'),
  };
};

const fieldStart = /^([!-9;-~]{1,998})[ \t]*:/;

const parseFields = (block: string, isCut: boolean): HeaderField[] => {
  const lines = block.split('\r\n');
  const fields: {name: string; lines: string[]}[] = [];
  let current: {name: string; lines: string[]} | undefined;
  for (const line of lines) {
    if (line === '') continue;
    if (/^[ \t]/.test(line)) {
      current?.lines.push(line);
      continue;
    }
    const start = fieldStart.exec(line);
    current = start ? {name: start[1] ?? '', lines: [line.slice(start[0].length)]} : undefined;
    if (current) fields.push(current);
  }
  if (isCut && current) fields.pop();
  return fields.map(field => ({name: field.name, value: field.lines.join('\r\n')}));
};

/** The raw values of every field of that name, regardless of case, top to bottom. */
export const headerValues = (fields: readonly HeaderField[], name: string): string[] => {
  const wanted = name.toLowerCase();
  return fields.filter(field => field.name.toLowerCase() === wanted).map(field => field.value);
};

/** A raw value as one line of text in UTF-8, its encoded words left alone. Bytes that are no UTF-8 become U+FFFD. */
export const unfoldHeader = (value: string): string =>
  Buffer.from(value.slice(0, maxEncodedChars), 'latin1')
    .toString('utf8')
    .replace(/\r?\n(?=[ \t])/g, '')
    .replace(/[\r\n]+/g, ' ')
    .trim();

/** Far above what mail programs write, low enough that decoding takes no time that anybody could notice. */
const maxEncodedChars = 32 * 1024;

/**
 * A raw header value as a person should read it: unfolded, encoded words (RFC 2047) and raw UTF-8 (RFC 6532) decoded, at most
 * `maxChars` long. Never throws. No NUL, no line break, no lone surrogate; what cannot be decoded is U+FFFD. Other control
 * characters stay: see `safeLine` before a terminal sees them.
 */
export const decodeHeader = (value: string, maxChars = 4096): string => {
  const decoded = decodeWords(unfoldHeader(value));
  return cut(decoded.replace(/\0/g, '').replace(/[\r\n]+/g, ' '), maxChars)
    .replace(/\p{Cs}/gu, '\ufffd')
    .trim();
};

const cut = (text: string, maxChars: number): string => {
  if (text.length <= maxChars) return text;
  const isPairSplit = /[\ud800-\udbff]/.test(text.charAt(maxChars - 1));
  return text.slice(0, isPairSplit ? maxChars - 1 : maxChars);
};

const maxSubjectChars = 1000;

/** The decoded subject; empty when there is none. Of several the first counts, as in most mail programs. */
export const subjectOf = (fields: readonly HeaderField[]): string => {
  const [first] = headerValues(fields, 'subject');
  return first === undefined ? '' : decodeHeader(first, maxSubjectChars);
};

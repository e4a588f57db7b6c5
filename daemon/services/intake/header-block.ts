// Header block of a mail: read while the bytes arrive, and decoded for users and filters. All input here may be hostile.
import {decodeWords} from 'postal-mime';
import type {HeaderField, PlacedField} from './mail.ts';

const defaultMaxHeaderBytes = 256 * 1024;

export interface HeaderReader {
  /** Takes the next bytes of the mail. Bytes after the header block are ignored. */
  push(chunk: Buffer): void;
  /** True after the blank line, or when the block is too long: further bytes are ignored. */
  readonly isDone: boolean;
  /** The block is longer than `maxBytes`; `fields` returns only the complete fields within that limit. */
  readonly isTooLong: boolean;
  /** The fields read so far, in order. Lines that are not part of a field (RFC 5322 section 2.2) are skipped. */
  fields(): PlacedField[];
  /** The lines that are part of no field. */
  strayLines(): string[];
}

const blankLine = Buffer.from('\r\n\r\n');

/** Reads a header block from chunks of any size, up to the blank line that ends it. Lines end in CRLF. */
export const createHeaderReader = ({maxBytes = defaultMaxHeaderBytes} = {}): HeaderReader => {
  // Starts with a line end, so that the blank line is also found in a mail without headers.
  let tail: Buffer = Buffer.from('\r\n');
  const chunks: Buffer[] = [];
  let sizeBytes = 0;
  let state: 'reading' | 'complete' | 'too long' = 'reading';
  let known: ParsedBlock | undefined;

  const collect = (chunk: Buffer) => {
    const leftBytes = maxBytes - sizeBytes;
    if (chunk.length > leftBytes) state = 'too long';
    // A copy, because the chunk may be a slice of a much larger buffer, or the caller may overwrite it.
    chunks.push(Buffer.from(chunk.subarray(0, leftBytes)));
    sizeBytes += Math.min(chunk.length, leftBytes);
  };

  const push = (chunk: Buffer) => {
    if (state !== 'reading' || chunk.length === 0) return;
    known = undefined;

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

  const parsed = (): ParsedBlock => {
    known ??= parseFields(Buffer.concat(chunks).toString('latin1'), state === 'too long');
    return known;
  };

  return {
    push,
    get isDone() {
      return state !== 'reading';
    },
    get isTooLong() {
      return state === 'too long';
    },
    fields: () => parsed().fields,
    strayLines: () => parsed().strayLines,
  };
};

const fieldStart = /^([!-9;-~]{1,998})[ \t]*:/;

interface ParsedBlock {
  fields: PlacedField[];
  strayLines: string[];
}

const parseFields = (block: string, isCut: boolean): ParsedBlock => {
  const fields: {name: string; lines: string[]; from: number; to: number}[] = [];
  let current: (typeof fields)[number] | undefined;
  let to = 0;
  const strayLines: string[] = [];
  for (const line of block.split('\r\n')) {
    const from = to;
    to = Math.min(block.length, from + line.length + 2);
    if (line === '') continue;
    if (/^[ \t]/.test(line)) {
      (current?.lines ?? strayLines).push(line);
      if (current) current.to = to;
      continue;
    }
    const start = fieldStart.exec(line);
    current = start ? {name: start[1] ?? '', lines: [line.slice(start[0].length)], from, to} : undefined;
    if (current) fields.push(current);
    else strayLines.push(line);
  }
  if (isCut && current) fields.pop();
  return {fields: fields.map(({lines, ...field}) => ({...field, value: lines.join('\r\n')})), strayLines};
};

/** The raw values of all fields of that name, ignoring case, from top to bottom. */
export const headerValues = (fields: readonly HeaderField[], name: string): string[] => {
  const wanted = name.toLowerCase();
  return fields.filter(field => field.name.toLowerCase() === wanted).map(field => field.value);
};

/** A raw value as one line of text, decoded as UTF-8, with encoded words unchanged. Invalid UTF-8 becomes U+FFFD. */
export const unfoldHeader = (value: string): string =>
  Buffer.from(value.slice(0, maxEncodedChars), 'latin1')
    .toString('utf8')
    .replace(/\r?\n(?=[ \t])/g, '')
    .replace(/[\r\n]+/g, ' ')
    .trim();

/** Far above what mail programs write, and low enough that decoding takes no noticeable time. */
const maxEncodedChars = 32 * 1024;

/**
 * A raw header value as readable text: unfolded, encoded words (RFC 2047) and raw UTF-8 (RFC 6532) decoded, at most
 * `maxChars` long. Never throws. Contains no NUL, line break or lone surrogate; undecodable parts become U+FFFD. Other control
 * characters remain: use `safeLine` before writing it to a terminal.
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

/** The decoded subject; empty when there is none. Uses the first of several, as most mail programs do. */
export const subjectOf = (fields: readonly HeaderField[]): string => {
  const [first] = headerValues(fields, 'subject');
  return first === undefined ? '' : decodeHeader(first, maxSubjectChars);
};

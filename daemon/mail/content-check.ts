// Check of mail content against RFC 5321 while its bytes arrive.

import {createHeaderReader, headerValues} from '../services/intake/header-block.ts';
import type {PlacedField, SmtpReply} from '../services/intake/mail.ts';

export interface ContentReport {
  /** The reply that refuses the mail; undefined without a violation. Bytes are checked in order, then the number of hops. */
  violation?: SmtpReply;
  /** The test string (GTUBE) occurs somewhere in the bytes as sent. */
  hasTestString: boolean;
  headers: PlacedField[];
  strayLines: string[];
  /** The header block exceeds the reader's limit, and `headers` is truncated. */
  isHeaderTooLong: boolean;
}

/** RFC 5321 section 4.5.3.1.6: 1000 octets with the CRLF. */
const maxLineBytes = 998;
/** RFC 5321 section 6.3 suggests at least 100, but real mail never reaches 50, and a loop always does. */
const maxHops = 50;

const violations = {
  nul: {code: 554, text: '5.6.0 NUL in the message; encode binary content'},
  bareCr: {code: 554, text: '5.6.0 Bare <CR> in the message; lines end in <CR><LF> (RFC 5321 2.3.8)'},
  bareLf: {code: 554, text: '5.6.0 Bare <LF> in the message; lines end in <CR><LF> (RFC 5321 2.3.8)'},
  folded: {code: 554, text: '5.6.0 The first line begins with a blank, as if it continued a header field (RFC 5322 2.2.3)'},
  longLine: {code: 554, text: '5.6.0 Line over 998 octets in the message (RFC 5321 4.5.3.1.6)'},
  hops: {code: 554, text: '5.4.6 Too many Received header fields; routing loop detected'},
} as const;

/**
 * Checks a mail in one pass; the report does not depend on the size of the chunks. `isFormChecked` false: another mail server has
 * accepted the form of the mail, so nothing in it is a violation.
 */
export const createContentChecker = ({isFormChecked = true} = {}) => {
  const lines = createLineChecker();
  const testString = createTestStringFinder();
  const headers = createHeaderReader();
  let firstByte: number | undefined;

  return {
    /** Takes the next bytes after DATA, without dot-stuffing. Chunks may end anywhere. */
    push(chunk: Buffer): void {
      firstByte ??= chunk[0];
      if (isFormChecked) lines.push(chunk);
      testString.push(chunk);
      headers.push(chunk);
    },
    /** Ends the check; a last line without CRLF is allowed. */
    end(): ContentReport {
      const fields = headers.fields();
      const hops = headerValues(fields, 'received').length;
      // It would continue the field that this node writes in front of the mail.
      const isFolded = firstByte === SPACE || firstByte === TAB;
      const inOrder = isFolded ? violations.folded : (lines.end() ?? (hops > maxHops ? violations.hops : undefined));
      const violation = isFormChecked ? inOrder : undefined;
      return {
        ...(violation && {violation}),
        hasTestString: testString.isFound(),
        headers: fields,
        strayLines: headers.strayLines(),
        isHeaderTooLong: headers.isTooLong,
      };
    },
  };
};

const NUL = 0;
const TAB = 9;
const LF = 10;
const CR = 13;
const SPACE = 32;

/**
 * A plain loop on purpose: `indexOf` per line is faster for usual lines, but ten times as slow when every line is empty. The loop
 * changes local variables only: with variables of the closure it took five times as long.
 */
const createLineChecker = () => {
  let found: SmtpReply | undefined;
  let last = LF;
  /** Bytes of the current line in earlier chunks. */
  let carried = 0;

  const check = (chunk: Buffer): SmtpReply | undefined => {
    const {length} = chunk;
    let previous = last;
    let start = -carried;
    for (let at = 0; at < length; at += 1) {
      const byte = chunk[at] ?? NUL;
      if (byte <= CR || previous === CR) {
        const violation = violationAt(byte, previous, at - 1 - start);
        if (violation) return violation;
        if (byte === LF) start = at + 1;
      }
      previous = byte;
    }
    last = previous;
    carried = length - start;
    return undefined;
  };

  return {
    push(chunk: Buffer) {
      found ??= check(chunk);
    },
    end(): SmtpReply | undefined {
      if (found) return found;
      if (last === CR) return violations.bareCr;
      return carried > maxLineBytes ? violations.longLine : undefined;
    },
  };
};

/** `lineBytes`: the length of the line without CRLF, if this byte ends it. */
const violationAt = (byte: number, previous: number, lineBytes: number): SmtpReply | undefined => {
  if (previous === CR && byte !== LF) return violations.bareCr;
  if (byte === NUL) return violations.nul;
  if (byte !== LF) return undefined;
  if (previous !== CR) return violations.bareLf;
  return lineBytes > maxLineBytes ? violations.longLine : undefined;
};

/** Generic Test for Unsolicited Bulk Email, which all filters recognise: https://spamassassin.apache.org/gtube/ */
export const testString = 'XJS*C4JDBQADN1.NSBN3*2IDNEN*GTUBE-STANDARD-ANTI-UBE-TEST-EMAIL*C.34X';

const createTestStringFinder = () => {
  const wanted = Buffer.from(testString);
  let tail: Buffer = Buffer.alloc(0);
  let isFound = false;

  return {
    push(chunk: Buffer) {
      if (isFound) return;
      const seam = Buffer.concat([tail, chunk.subarray(0, wanted.length - 1)]);
      isFound = seam.includes(wanted) || chunk.includes(wanted);
      tail = Buffer.from((chunk.length < wanted.length ? seam : chunk).subarray(-(wanted.length - 1)));
    },
    isFound: () => isFound,
  };
};

// Contents of the parts of a mail (RFC 2046), for reports. Parsers for all mail keep up to a thousand bytes for each line, outside of the
// memory that can be limited; this takes no more than the mail itself.
import {createHeaderReader, headerValues, unfoldHeader} from '../../services/intake/header-block.ts';

/** A report has two or three. */
const maxParts = 100;
const maxDepth = 5;

/** Decoded, in their order; a mail in the mail is one part. Throws an Error in plain words when there are too many. */
export const partsOf = (mail: Buffer): Buffer[] => {
  const found: Buffer[] = [];

  const collect = (entity: Buffer, depth: number): void => {
    const {type, encoding, body} = opened(entity);
    const boundary = /^multipart\//i.test(type) ? boundaryOf(type) : undefined;
    if (boundary === undefined) {
      if (found.length >= maxParts) throw new Error('the mail has too many parts');
      found.push(decoded(body, encoding));
      return;
    }
    if (depth >= maxDepth) throw new Error('the parts of the mail are nested too deeply');
    for (const part of split(body, boundary)) collect(part, depth + 1);
  };
  collect(mail, 1);
  return found;
};

const lineEnd = '\r\n';

/** `body` starts with the line end before it, as the first boundary needs one. */
const opened = (entity: Buffer): {type: string; encoding: string; body: Buffer} => {
  const isHeadless = entity.subarray(0, 2).toString('latin1') === lineEnd;
  const end = isHeadless ? 0 : entity.indexOf(lineEnd + lineEnd) + 2;
  if (end === 1) return {type: '', encoding: '', body: Buffer.alloc(0)};
  const reader = createHeaderReader();
  reader.push(entity.subarray(0, end));
  const fields = reader.fields();
  const first = (name: string): string => unfoldHeader(headerValues(fields, name)[0] ?? '');
  return {type: first('content-type'), encoding: first('content-transfer-encoding'), body: entity.subarray(end)};
};

const boundaryOf = (type: string): string | undefined => {
  const [, quoted, plain] = /;\s*boundary\s*=\s*(?:"([^"]{1,200})"|([^\s";]{1,200}))/i.exec(type) ?? [];
  return quoted ?? plain;
};

const split = (body: Buffer, boundary: string): Buffer[] => {
  const parts: Buffer[] = [];
  const mark = Buffer.from(`${lineEnd}--${boundary}`);
  let start: number | undefined;
  for (let at = body.indexOf(mark); at !== -1; at = body.indexOf(mark, at + mark.length)) {
    const after = at + mark.length;
    // Another boundary may begin like this one.
    const rest = /^(--)?[ \t]*(?:\r\n|$)/.exec(body.subarray(after, after + 100).toString('latin1'));
    if (!rest) continue;
    if (start !== undefined) parts.push(body.subarray(start, at));
    if (rest[1] !== undefined) return parts;
    if (parts.length > maxParts) break;
    start = after + rest[0].length;
  }
  return start === undefined ? parts : [...parts, body.subarray(start)];
};

const decoded = (body: Buffer, encoding: string): Buffer => {
  const content = body.subarray(lineEnd.length);
  switch (encoding.toLowerCase()) {
    case 'base64':
      return Buffer.from(content.toString('latin1'), 'base64');
    case 'quoted-printable':
      return unquoted(content);
    default:
      return content;
  }
};

/** RFC 2045 section 6.7. One pass over the bytes: a pattern with a function would keep an entry for each match. */
const unquoted = (content: Buffer): Buffer => {
  const decodedBytes = Buffer.alloc(content.length);
  let length = 0;
  for (let at = 0; at < content.length; at += 1) {
    const byte = content[at] ?? 0;
    if (byte !== equals) {
      decodedBytes[length++] = byte;
      continue;
    }
    const [softBreak] = /^[ \t]{0,80}\r\n/.exec(content.toString('latin1', at + 1, at + 83)) ?? [];
    const code = content.toString('latin1', at + 1, at + 3);
    if (softBreak !== undefined) at += softBreak.length;
    else if (/^[0-9a-f]{2}$/i.test(code)) {
      decodedBytes[length++] = Number.parseInt(code, 16);
      at += 2;
    } else decodedBytes[length++] = byte;
  }
  return decodedBytes.subarray(0, length);
};

const equals = 0x3d;

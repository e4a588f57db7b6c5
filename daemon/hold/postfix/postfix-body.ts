// Body of a mail in Postfix's queue as Postfix will send it: postcat writes its lines with LF.
import {randomUUID} from 'node:crypto';
import {createReadStream, createWriteStream} from 'node:fs';
import {stat, unlink} from 'node:fs/promises';
import {join} from 'node:path';
import {type Readable, Transform} from 'node:stream';
import {pipeline} from 'node:stream/promises';
import {Fault} from '../../../shared/fault.ts';
import {authorAddresses} from '../../services/intake/author-field.ts';
import {createHeaderReader, subjectOf} from '../../services/intake/header-block.ts';
import type {PlacedField} from '../../services/intake/mail.ts';
import type {PostfixPrograms} from './postfix-programs.ts';

/** Reads the whole body into a file first, as the size precedes the content. The file is removed when the stream closes. */
export const readBody = async (
  programs: Pick<PostfixPrograms, 'body'>,
  queueId: string,
  tmpDir: string,
): Promise<{sizeBytes: number; stream: Readable}> => {
  const path = join(tmpDir, `${queueId}-${randomUUID()}.body`);
  const {stdout, ended} = await programs.body(queueId);
  try {
    await pipeline(stdout, createLineEnds(), createWriteStream(path, {mode: 0o600, flags: 'wx'}));
    const {code, stderr} = await ended;
    if (code !== 0) throw new Fault('unavailable', unreadable, {cause: new Error(stderr.slice(0, 300)), retryAfterSeconds: 30});
    const {size: sizeBytes} = await stat(path);
    const stream = createReadStream(path);
    stream.once('close', () => void unlink(path).catch(() => undefined));
    return {sizeBytes, stream};
  } catch (error) {
    await unlink(path).catch(() => undefined);
    throw error instanceof Fault ? error : new Fault('unavailable', unreadable, {cause: error, retryAfterSeconds: 60});
  }
};

const unreadable = 'Postfix did not show this mail: it has left the hold queue, or this node may not read it; its log says why';

const LF = 10;
const crlf = Buffer.from('\r\n');

/** Replaces every LF by CRLF; a CR before it in the mail is kept. */
const createLineEnds = (): Transform =>
  new Transform({
    transform(chunk: Buffer, _encoding, callback) {
      const parts: Buffer[] = [];
      let from = 0;
      for (let at = chunk.indexOf(LF); at !== -1; at = chunk.indexOf(LF, from)) {
        parts.push(chunk.subarray(from, at), crlf);
        from = at + 1;
      }
      parts.push(chunk.subarray(from));
      callback(null, Buffer.concat(parts));
    },
  });

export interface MailOnHold {
  queueId: string;
  /** Addresses in the header From. */
  from: string[];
  subject: string;
  clientIp: string;
  helo: string;
}

// No line of a mail can match these marks: a header field has no blank before its colon, and a continuation line begins with a
// blank. Lines end at LF only: a mail may contain CR anywhere, where `^` and `$` with the flag m would see a line break.
const envelopeMark = /(?<![^\n])\*\*\* ENVELOPE RECORDS [^\n]*\/([0-9A-Za-z]+) \*\*\*(?![^\n])/;
const contentMark = /(?<![^\n])\*\*\* MESSAGE CONTENTS [^\n]* \*\*\*(?![^\n])/;
const extractedMark = /(?<![^\n])\*\*\* HEADER EXTRACTED [^\n]* \*\*\*(?![^\n])/;

/** The mails that `output` (one character per byte) contains completely; the last one may be cut off. */
export const mailsIn = (output: string): MailOnHold[] => {
  // Splitting by a pattern with a group yields: before, id, text, id, text …
  const [, ...parts] = output.split(envelopeMark);
  const mails: MailOnHold[] = [];
  for (let n = 0; n + 1 < parts.length; n += 2) {
    const [envelope = '', rest] = (parts[n + 1] ?? '').split(contentMark, 2);
    if (rest === undefined) continue;
    const [header = '', end] = rest.split(extractedMark, 2);
    if (end === undefined) continue;
    const fields = fieldsIn(header);
    mails.push({
      queueId: parts[n] ?? '',
      from: authorAddresses(fields),
      subject: subjectOf(fields),
      clientIp: attribute(envelope, 'client_address'),
      helo: attribute(envelope, 'helo_name'),
    });
  }
  return mails;
};

const fieldsIn = (header: string): PlacedField[] => {
  const reader = createHeaderReader();
  const lines = header.replace(/^\n/, '').replace(/\n/g, '\r\n');
  reader.push(Buffer.from(`${lines}\r\n\r\n`, 'latin1'));
  return reader.fields();
};

const attribute = (envelope: string, name: string): string => {
  const start = `named_attribute: ${name}=`;
  const value =
    envelope
      .split('\n')
      .find(line => line.startsWith(start))
      ?.slice(start.length) ?? '';
  return value === 'unknown' ? '' : Buffer.from(value, 'latin1').toString('utf8').slice(0, 255);
};

// Parser for the output of `postcat -eh`: the records of the envelope, then the header block, lines ending in LF.
import {createHeaderReader, subjectOf} from '../../services/intake/header-block.ts';

export interface MailOnHold {
  queueId: string;
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
    mails.push({
      queueId: parts[n] ?? '',
      subject: subjectIn(header),
      clientIp: attribute(envelope, 'client_address'),
      helo: attribute(envelope, 'helo_name'),
    });
  }
  return mails;
};

const subjectIn = (header: string): string => {
  const reader = createHeaderReader();
  const lines = header.replace(/^\n/, '').replace(/\n/g, '\r\n');
  reader.push(Buffer.from(`${lines}\r\n\r\n`, 'latin1'));
  return subjectOf(reader.fields());
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

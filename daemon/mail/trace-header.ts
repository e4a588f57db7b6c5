// Trace header: the Received field that this node adds.
import {isIPv6} from 'node:net';
import {plainAddress} from '../../shared/host-port.ts';
import {parseMailAddress} from '../../shared/mail-address.ts';
import type {ReceivedMail} from '../services/intake/mail.ts';

export type TraceFacts = Pick<ReceivedMail, 'queueId' | 'receivedAt' | 'client' | 'envelope'>;

/**
 * The `Received` header field that this node puts before a mail (RFC 5321 section 4.4), folded, with its CRLF. Text from the client
 * is reduced to characters that cannot end the field. A recipient is named only if there is exactly one, as several would reveal a Bcc;
 * one that is not ASCII, only in SMTPUTF8 mail (RFC 6531 section 3.7.3).
 */
export const traceHeader = ({queueId, receivedAt, client, envelope}: TraceFacts, fqdn: string): Buffer => {
  const {isUtf8} = envelope;
  const clauses = [
    'Received: from',
    hostText(client.helo) || 'unknown',
    `(${hostText(client.hostname ?? '') || 'unknown'}`,
    `[${addressLiteral(client.ip)}])`,
    'by',
    hostText(fqdn) || 'unknown',
    'with',
    client.protocol.replace(/[^A-Za-z0-9-]/g, '').slice(0, 30) || 'SMTP',
    'id',
    queueId.replace(/[^A-Za-z0-9]/g, '').slice(0, 64),
    ...forClause(envelope.recipients, isUtf8),
  ];
  const words = [...withSemicolon(clauses), receivedAt.toUTCString().replace('GMT', '+0000')];
  return Buffer.from(`${foldWords(words)}\r\n`, 'utf8');
};

const withSemicolon = (clauses: string[]): string[] => clauses.with(-1, `${clauses.at(-1) ?? ''};`);

/**
 * Allows only host names and address literals, as a client may send any text in HELO. ASCII also in SMTPUTF8 mail (RFC 6531 section
 * 3.7.1), which would otherwise need that extension for this field alone.
 */
const hostText = (text: string): string => text.slice(0, 255).replace(/[^A-Za-z0-9._:[\]-]/gu, '?');

/** RFC 5321 section 4.1.3. */
const addressLiteral = (ip: string): string => {
  const address = plainAddress(ip);
  return isIPv6(address) ? `IPv6:${address.split('%', 1)[0] ?? ''}` : address.replace(/[^0-9.]/g, '');
};

const forClause = (recipients: readonly string[], isUtf8: boolean): string[] => {
  const [recipient] = recipients;
  if (recipient === undefined || recipients.length > 1 || !parseMailAddress(recipient)) return [];
  const isPlain = isUtf8 ? !/[\p{C}\p{Z}]/u.test(recipient) : /^[!-~]+$/.test(recipient);
  return isPlain ? ['for', `<${recipient}>`] : [];
};

/** RFC 5322 section 2.1.1 asks for 78 characters at most. */
const maxLineChars = 78;

/** A header field made of words, folded between them, without its last line end. A longer word has a line of its own. */
export const foldWords = ([first = '', ...words]: readonly string[]): string => {
  const lines: string[] = [];
  let line = first;
  for (const word of words)
    if (line.length + 1 + word.length <= maxLineChars) line += ` ${word}`;
    else {
      lines.push(line);
      line = `\t${word}`;
    }
  return [...lines, line].join('\r\n');
};

// MAIL and RCPT commands: the address in the SMTP path, and the parameters.
import {parseMailAddress, withoutBrackets} from '../../../shared/mail-address.ts';
import type {SmtpReply} from '../../services/intake/mail.ts';
import type {EnvelopeStart} from '../backend/backend-connection.ts';
import {replies} from '../smtp-reply.ts';

export interface PathCommand {
  /** `MAIL FROM` or `RCPT TO`, as the client wrote it. */
  verb: string;
  /** Without brackets and source route, and not checked any further. Empty for `<>`. */
  address: string;
  parameters: string;
}

/** A quoted local part may contain spaces (RFC 5321 section 4.1.2). */
const pathCommand = /^([^:]*):\s*(<(?:[^\s<>"]|"(?:[^"\\<>]|\\[^<>])*")*>)(?:\s+(.*))?$/su;

/** Undefined when the command has no path in angle brackets. */
export const parsePathCommand = (line: string): PathCommand | undefined => {
  const [, verb = '', path, parameters = ''] = pathCommand.exec(line) ?? [];
  return path === undefined ? undefined : {verb, address: withoutBrackets(path), parameters};
};

/** The SMTP path of a command, whether or not it can be parsed. */
export const pathIn = (line: string): string | undefined => /^[^:]*:\s*(<[^<>]*>)/.exec(line)?.[1];

/** For the log: the address of a command, or what is there instead. */
export const addressIn = (line: string): string => parsePathCommand(line)?.address ?? line.slice(line.indexOf(':') + 1).trim();

/** The sender and the parameters of MAIL (RFC 1870, 6152, 6531), or the reply that refuses them. */
export const parseMailCommand = (line: string, maxSizeBytes: number): EnvelopeStart | SmtpReply => {
  const command = parsePathCommand(line);
  if (!command || !/^\s*MAIL FROM\s*$/i.test(command.verb)) return replies.badSender;
  const parameters = parseParameters(command.parameters);
  if (!parameters) return replies.parameterTwice;
  const [size, body, utf8] = offered.map(name => parameters.get(name));
  // What is not offered is refused (RFC 5321 section 4.1.1.11).
  if (parameters.size > offered.filter(name => parameters.has(name)).length) return replies.unknownParameter;
  if (size !== undefined && !/^\d{1,20}$/.test(size)) return replies.badSize;
  if (Number(size) > maxSizeBytes) return replies.tooBig;
  if (body !== undefined && !/^(?:7BIT|8BITMIME)$/i.test(body)) return replies.badBody;
  if (utf8 !== undefined && utf8 !== '') return replies.badUtf8;

  const sender = command.address === '' ? '' : canonicalAddress(command.address);
  if (sender === undefined) return replies.badSender;
  const isUtf8 = utf8 !== undefined;
  if (!isUtf8 && !isAscii(sender)) return replies.needsUtf8;
  const isEightBit = body?.toUpperCase() === '8BITMIME';
  return {sender, isUtf8, isEightBit, ...(size !== undefined && {sizeBytes: Number(size)})};
};

/** The recipient of RCPT, which takes no parameters here, or the reply that refuses it. */
export const parseRcptCommand = (line: string, {isUtf8}: Pick<EnvelopeStart, 'isUtf8'>): string | SmtpReply => {
  const command = parsePathCommand(line);
  if (!command || !/^\s*RCPT TO\s*$/i.test(command.verb)) return replies.badRecipient;
  const recipient = canonicalAddress(command.address);
  if (recipient === undefined) return replies.badRecipient;
  if (command.parameters.trim() !== '') return replies.unknownParameter;
  return isUtf8 || isAscii(recipient) ? recipient : replies.needsUtf8;
};

/** RFC 1870, 6152, 6531. */
const offered = ['SIZE', 'BODY', 'SMTPUTF8'] as const;

/** The values by keyword in capitals, empty for a keyword without a value; undefined when one is given twice. */
const parseParameters = (text: string): Map<string, string> | undefined => {
  const parameters = new Map<string, string>();
  for (const parameter of text.split(/\s+/).filter(Boolean)) {
    const [, keyword = '', value = ''] = /^([^=]*)(?:=(.*))?$/s.exec(parameter) ?? [];
    const name = keyword.toUpperCase();
    if (parameters.has(name)) return undefined;
    parameters.set(name, value);
  }
  return parameters;
};

const isAscii = (text: string): boolean => !/[^\x00-\x7f]/.test(text);

const canonicalAddress = (text: string): string | undefined => {
  const address = parseMailAddress(text);
  return address && `${address.local}@${address.domain}`;
};

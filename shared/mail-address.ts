import {isIP} from 'node:net';
import {canonicalMailDomain, mailLabel} from './domain-name.ts';

interface MailAddress {
  /** Local part exactly as given: its case matters (RFC 5321 section 2.4). */
  local: string;
  /** Canonical domain (see `canonicalMailDomain`), or a lone host name such as `localhost`, or an address literal such as `[192.0.2.1]`. */
  domain: string;
}

/**
 * No control characters or angle brackets, and no spaces outside a quoted string: such text could end a command and begin another.
 * No invisible characters, which make one address look like another. No U+FFFD: it replaces bytes that were no UTF-8, so the text is
 * not what the client sent. Dots may be anywhere, as old addresses such as `a..b@` and `ab.@` are in use.
 */
const localPart =
  /^(?:[^\s"<>()[\]\\,;:@\x00-\x20\x7f-\x9f\u200b\u2060\ufffd]+|"(?:[^"\\<>\x00-\x1f\x7f-\x9f\u200b\u2060\ufeff\ufffd]|\\[\x20-;=?-~])*")$/u;

/** RFC 5321 section 4.5.3.1.1 says 64, but bounce addresses that contain another address are longer, and common. */
const maxLocalBytes = 255;

/**
 * Splits `local@domain`; undefined when it is not a mailbox (RFC 5321 section 4.1.2, RFC 6531). Programs send from
 * `root@localhost` and `root@[192.0.2.1]`, so these are mailboxes too.
 */
export const parseMailAddress = (text: string): MailAddress | undefined => {
  const at = text.lastIndexOf('@');
  if (at <= 0) return undefined;

  const local = text.slice(0, at);
  const domain = canonicalMailDomain(text.slice(at + 1)) ?? localHost(text.slice(at + 1));
  if (domain === undefined || Buffer.byteLength(local) > maxLocalBytes || !localPart.test(local)) return undefined;
  return {local, domain};
};

/**
 * The domain that owns an address, canonical: what follows the last `@`, whether or not the rest can be parsed. Takes an SMTP path
 * too, in angle brackets and with a source route. Undefined when that is not a domain name, so that it belongs to no domain here.
 */
export const owningDomain = (text: string): string | undefined => {
  const {domain} = atLastSign(text);
  return domain === undefined ? undefined : canonicalMailDomain(domain);
};

/**
 * Whether a mail server may interpret the local part: as a route to another host (`user%host`, `host!user`,
 * `user@host`), or as a program or a file (`|program`, `/file`). Such a server ignores quoting, and so does this function.
 */
export const hasInstruction = (text: string): boolean => {
  const {local} = atLastSign(text);
  const unquoted = local.replace(/\\(.)|"/gs, '$1');
  return /[%!@]|^\s*[|/]/.test(unquoted);
};

const atLastSign = (text: string): {local: string; domain: string | undefined} => {
  const path = withoutBrackets(text);
  const at = path.lastIndexOf('@');
  return at < 0 ? {local: path, domain: undefined} : {local: path.slice(0, at), domain: path.slice(at + 1).trim()};
};

/** The address in an SMTP path; a source route is ignored (RFC 5321 section 4.1.1.3). */
export const withoutBrackets = (path: string): string =>
  path
    .trim()
    .replace(/^<(.*)>$/s, '$1')
    .replace(/^@[^:]*:/, '');

const localHost = (text: string): string | undefined => {
  const host = text.toLowerCase();
  if (mailLabel.test(host)) return host;
  const literal = /^\[(?:ipv6:)?([0-9a-f:.]{2,45})\]$/.exec(host)?.[1];
  return literal !== undefined && isIP(literal) !== 0 ? host : undefined;
};

/** The form addresses are compared in: lower case throughout, domain canonical. The empty sender stays empty. */
export const comparableAddress = (text: string): string => {
  const address = parseMailAddress(text);
  return address ? `${address.local.toLowerCase()}@${address.domain}` : text.toLowerCase();
};

/**
 * The form that tells mailboxes apart (RFC 5321 sections 2.4 and 4.1.2): no quotes that say nothing, and lower case of ASCII only, as other
 * letters that fold together may be those of two mailboxes. Text that is no address stays as it is.
 */
export const distinctAddress = (text: string): string => {
  const address = parseMailAddress(text);
  return address ? `${asciiFolded(quotedAsNeeded(withoutQuotes(address.local)))}@${address.domain}` : text;
};

const asciiFolded = (text: string): string => text.replace(/[A-Z]+/g, letters => letters.toLowerCase());

/** What a local part means: without quotes, and without the backslashes between them. */
export const withoutQuotes = (local: string): string =>
  local.startsWith('"') ? local.slice(1, -1).replace(/\\(.)/gs, '$1') : local;

export const quotedAsNeeded = (content: string): string =>
  !content.startsWith('"') && localPart.test(content) ? content : `"${content.replace(/["\\]/g, '\\$&')}"`;

export const domainOf = (text: string): string | undefined => parseMailAddress(text)?.domain;

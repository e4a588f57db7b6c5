import {canonicalDomain} from './domain-name.ts';

export interface MailAddress {
  /** Local part exactly as given: its case matters (RFC 5321 section 2.4). */
  local: string;
  /** Canonical domain, see `canonicalDomain`. */
  domain: string;
}

/** No controls, spaces or angle brackets outside a quoted string: such text could end a command and begin another. */
const localPart = /^(?:[^\s"<>()[\]\\,;:@\x00-\x20\x7f]+|"(?:[^"\\<>\x00-\x1f\x7f]|\\[\x20-\x7e])*")$/u;

/** Splits `local@domain`; undefined when it is no mailbox of a named domain (RFC 5321 section 4.1.2, RFC 6531). */
export const parseMailAddress = (text: string): MailAddress | undefined => {
  const at = text.lastIndexOf('@');
  if (at <= 0) return undefined;

  const local = text.slice(0, at);
  const domain = canonicalDomain(text.slice(at + 1));
  if (domain === undefined || Buffer.byteLength(local) > 64 || !localPart.test(local)) return undefined;
  return {local, domain};
};

/** The form addresses are compared in: lower case throughout, domain canonical. The empty sender stays empty. */
export const comparableAddress = (text: string): string => {
  const address = parseMailAddress(text);
  return address ? `${address.local.toLowerCase()}@${address.domain}` : text.toLowerCase();
};

export const domainOf = (text: string): string | undefined => parseMailAddress(text)?.domain;

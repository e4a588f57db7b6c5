// Rules of digests that both programs check. Without zod, which mfctl does not load.
import {comparableAddress, distinctAddress, parseMailAddress, quotedAsNeeded, withoutQuotes} from './mail-address.ts';
import type {Reason} from './reason.ts';

export const digestLanguages = ['en', 'de'] as const;
export type DigestLanguage = (typeof digestLanguages)[number];

/** What a recipient may do with mail that is held for a reason: have it delivered, ask an administrator for it, or nothing. */
export const digestActions = ['release', 'request', 'none'] as const;
export type DigestAction = (typeof digestActions)[number];

/** Settings of a domain whose digest nobody has set. */
export const digestDefaults = {
  enabled: false,
  at: '07:00',
  timezone: 'UTC',
  language: 'en',
  actions: {spam: 'release', phishing: 'request', sandbox: 'none', rbl: 'release'} satisfies Record<Reason, DigestAction>,
  except: [] as string[],
} as const;

export const maxExceptions = 1000;
/** In the form in which it is kept. */
const maxExceptionChars = 320;

/** How long a link is good, and mail is listed after it came. */
export const linkDays = 14;

export const timeOfDay = /^(?:[01][0-9]|2[0-3]):[0-5][0-9]$/;

/** Names of the IANA time zone database, in any case. Offsets are none, as they know no summer time. */
export const isTimeZone = (name: string): boolean => {
  if (!/^[A-Za-z]/.test(name)) return false;
  try {
    new Intl.DateTimeFormat('en', {timeZone: name});
    return true;
  } catch {
    return false;
  }
};

/** An address, or `*@` and a domain; undefined for any other text. */
export const canonicalException = (text: string): string | undefined => {
  const isAll = text.startsWith('*@');
  const address = parseMailAddress(isAll ? `all${text.slice(1)}` : text);
  if (!address || address.local.includes('*')) return undefined;
  const canonical = isAll ? `*@${address.domain}` : comparableAddress(text);
  return canonical.length > maxExceptionChars ? undefined : canonical;
};

/** Without what is behind a `+`, which is for the owner of the mailbox alone, and without quotes that say nothing. */
export const untagged = (address: string): string => {
  const at = address.lastIndexOf('@');
  const content = withoutQuotes(address.slice(0, at));
  const plus = content.indexOf('+');
  return `${quotedAsNeeded(plus > 0 ? content.slice(0, plus) : content)}${address.slice(at)}`;
};

/** The mailbox that mail to an address ends in. */
export const mailboxOf = (address: string): string => distinctAddress(untagged(address));

/** Whether a recipient gets no digest. */
export const exceptionTest = (except: readonly string[]): ((address: string) => boolean) => {
  const known = new Set(except);
  return address => {
    if (known.size === 0) return false;
    const comparable = comparableAddress(address);
    const all = `*${comparable.slice(comparable.lastIndexOf('@'))}`;
    return known.has(comparable) || known.has(comparableAddress(untagged(address))) || known.has(all);
  };
};

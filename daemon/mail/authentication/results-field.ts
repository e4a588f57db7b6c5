// The Authentication-Results header field (RFC 8601).
import {decodeWords} from 'postal-mime';
import {canonicalDomain} from '../../../shared/domain-name.ts';
import type {MailAuthentication} from '../../../shared/mail-authentication.ts';
import type {HeaderField, ReceivedMail} from '../../services/intake/mail.ts';
import {foldWords} from '../trace-header.ts';

const fieldName = 'Authentication-Results';

/** The field that this node puts under its trace header, folded, with its CRLF. */
export const resultsField = (
  {spf, dkim, dmarc, arc}: MailAuthentication,
  {envelope: {sender}}: Pick<ReceivedMail, 'envelope'>,
  fqdn: string,
): Buffer => {
  const signatures = dkim.length > 0 ? dkim : [{result: 'none', domain: '', selector: ''}];
  const results = [
    [`spf=${spf.result}`, ...property(sender === '' ? 'smtp.helo' : 'smtp.mailfrom', spf.domain)],
    ...signatures.map(({result, domain, selector}) => [
      `dkim=${result}`,
      ...property('header.d', domain),
      ...property('header.s', selector),
    ]),
    [
      `dmarc=${dmarc.result}`,
      ...(dmarc.policy === null ? [] : [`(p=${dmarc.policy})`]),
      ...property('header.from', dmarc.domain),
    ],
    ...(arc.result === 'none' ? [] : [[`arc=${arc.result}`]]),
  ];
  const parts = [[`${fieldName}:`, fqdn], ...results];
  const words = parts.flatMap((part, n) => (n < parts.length - 1 ? [...part.slice(0, -1), `${part.at(-1)};`] : part));
  return Buffer.from(`${foldWords(words)}\r\n`, 'latin1');
};

/** Empty for a value that would need quotes: no domain and no selector of honest mail does. */
const property = (name: string, value: string): string[] => (/^[a-z0-9._-]{1,253}$/i.test(value) ? [`${name}=${value}`] : []);

/**
 * Whether a reader could take a field as written by one of our hosts. `isOurs` is asked for names in lower case, with A-labels.
 * Readers are lenient, and each in its own way: any name before the first semicolon counts, however it is quoted or encoded.
 * The check is for the fields of one mail, one after the other: of thousands of them, all but the first count as ours.
 */
export const createClaimCheck = (isOurs: (host: string) => boolean): ((field: HeaderField) => boolean) => {
  let readChars = 0;
  return ({name, value}) => {
    if (name.toLowerCase() !== fieldName.toLowerCase()) return false;
    if (readChars > maxCharsOfMail) return true;
    const server = serverPart(value);
    readChars += server?.length ?? 0;
    return mayName(server, isOurs);
  };
};

/** Far above what a host writes there. Reading a character takes up to 50 µs. */
const maxServerChars = 1000;
const maxCharsOfMail = 2000;

const mayName = (server: string | undefined, isOurs: (host: string) => boolean): boolean => {
  if (server === undefined) return true;
  const utf8 = Buffer.from(server, 'latin1').toString('utf8');
  const readings = new Set([server, utf8, decodeWords(server), decodeWords(utf8)]);
  const names = new Set([...readings].flatMap(namesIn));
  return [...names].some(name => isOurs(canonicalDomain(name) ?? name.toLowerCase()));
};

/** Names between blanks without all other characters, and names between other characters, of which some may be left out. */
const namesIn = (text: string): string[] => {
  const shown = text
    .normalize('NFKC')
    .replace(/[\u3002\uff61]/g, '.')
    .replace(/\p{DI}/gu, '')
    .replace(/\s+/g, ' ')
    .replace(/ ?\. ?/g, '.');
  const words = shown.split(' ').map(word => word.replace(otherCharacters, ''));
  const joined = shown.replace(/\(\)|["\\\p{Cc}\ufffd]/gu, '');
  return [...words, ...shown.split(otherCharacters), ...joined.split(otherCharacters)].map(word =>
    word.replace(/^[._-]+|[._-]+$/g, ''),
  );
};

const otherCharacters = /[^\p{L}\p{N}\p{M}._-]+/gu;

/** What comes before the first semicolon, without quotes and comments (RFC 8601 section 2.2); undefined when that is too long. */
const serverPart = (value: string): string | undefined => {
  const parts: string[] = [];
  let sizeChars = 0;
  let isNamed = false;
  let areCommentsClosed = true;
  for (let at = 0; at < value.length; ) {
    const enclosed = value[at] === '(' && !areCommentsClosed ? undefined : enclosedAt(value, at);
    if (value[at] === '(' && !enclosed) areCommentsClosed = false;
    const text = enclosed?.text ?? value.charAt(at);
    if (text === ';' && !enclosed && isNamed) break;
    at += enclosed?.length ?? 1;
    sizeChars += Math.max(1, text.length);
    if (sizeChars > maxServerChars) return undefined;
    // Not by `i=1`, which comes before the name in fields of ARC.
    isNamed ||= /[a-z\x80-\xff]{2}|\./i.test(`${parts.at(-1) ?? ''}${text}`);
    parts.push(text);
  }
  return parts.join('');
};

/** Blanks as one; a comment as `()`, which other readers than this one leave out or take as a blank. */
const enclosedAt = (value: string, start: number): {text: string; length: number} | undefined => {
  if (value[start] === '(') {
    const length = commentLength(value, start);
    return length === undefined ? undefined : {text: '()', length};
  }
  quoted.lastIndex = start;
  const match = quoted.exec(value);
  return match ? {text: (match[1] ?? ' ').replace(/\\(.)/gs, '$1'), length: match[0].length} : undefined;
};

/** A quoted string, to the end of the field where it has no end, or blanks. */
const quoted = /"((?:[^"\\]|\\.)*)(?:"|\\?$)|\s+/gsy;

/** Undefined for a comment that does not end. */
const commentLength = (value: string, start: number): number | undefined => {
  let depth = 0;
  for (let at = start; at < value.length; at += 1) {
    if (value[at] === '\\') at += 1;
    else if (value[at] === '(') depth += 1;
    else if (value[at] === ')') depth -= 1;
    if (depth === 0) return at + 1 - start;
  }
  return undefined;
};

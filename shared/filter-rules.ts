// Rules of mail filters, separate from the schemas: mfctl compares files with stored filters and does not load the schemas.
import {canonicalMailDomain, strayCharacterFault} from './domain-name.ts';
import {globCost, isGlob} from './glob.ts';
import {comparableAddress, parseMailAddress} from './mail-address.ts';

export const filterActions = ['allow', 'block', 'score'] as const;
export const filterMatches = ['sender', 'sender_domain', 'subject', 'header'] as const;

type FilterMatch = (typeof filterMatches)[number];

/** Whether a filter lets mail in that would otherwise be kept out. */
export const letsIn = ({action, score}: {action?: string | undefined; score?: number | null | undefined}): boolean =>
  action === 'allow' || (action === 'score' && (score ?? 0) < 0);

export const headerName = /^[!-9;-~]{1,76}$/;
export const maxPatternChars = 255;
export const maxCommentChars = 200;
export const maxPoints = 1000;
/** Of a domain, and for all domains. */
export const maxFilters = 1000;

/** Also undefined for values of a wrong type, which the schema reports. */
export const patternFault = ({
  match,
  pattern,
}: {
  match?: FilterMatch | undefined;
  pattern?: string | undefined;
}): string | undefined => {
  if (typeof pattern !== 'string') return undefined;
  switch (match) {
    case 'sender':
      if (pattern.includes('*')) return 'must be one address; match sender_domain for all of a domain';
      return senderFault(pattern);
    case 'sender_domain':
      return domainFault(pattern.replace(/^@/, ''));
    case 'subject':
    case 'header':
      return isGlob(pattern) ? undefined : 'ends in a lone \\; write \\\\ for a backslash';
    default:
      return undefined;
  }
};

const senderFault = (address: string): string | undefined => {
  const at = address.lastIndexOf('@');
  const stray = at < 0 ? undefined : strayCharacterFault(address.slice(at + 1), 'address');
  if (stray !== undefined || parseMailAddress(address)) return stray;
  const first = at < 0 ? undefined : strayCharacterFault(firstOf(address), 'address');
  return first ?? 'must be a mail address such as news@example.com';
};

const domainFault = (name: string): string | undefined =>
  strayCharacterFault(name) ?? (canonicalMailDomain(name) ? undefined : 'must be a domain such as example.com');

const firstOf = (text: string): string => [...text.slice(0, 2)][0] ?? '';

/** The highest cost of one pattern, so that a thousand of them delay a mail little. */
const maxStars = 20;
const maxCharsWithAnyOne = 32;

/**
 * Why a new filter may not have this pattern, beside `patternFault`. Filters that were stored before these bounds existed stay, and
 * are applied like all others.
 */
export const newPatternFault = ({
  match,
  pattern,
}: {
  match?: FilterMatch | undefined;
  pattern?: string | undefined;
}): string | undefined => {
  if (typeof pattern !== 'string' || match === undefined) return undefined;
  if (match === 'sender') return quotedSenderFault(pattern);
  if (match === 'sender_domain') return undefined;
  const {stars, longestWithAnyOne} = globCost(pattern);
  if (stars > maxStars) return `has more than ${maxStars} *; take some out`;
  return longestWithAnyOne > maxCharsWithAnyOne
    ? `has a ? among more than ${maxCharsWithAnyOne} characters between two *; write the character that is meant, or a shorter part`
    : undefined;
};

/** A local part may begin with an ASCII quote (RFC 5321), or with an apostrophe. */
const quotedSenderFault = (address: string): string | undefined =>
  patternFault({match: 'sender', pattern: address}) !== undefined || /^["'`]/.test(address)
    ? undefined
    : strayCharacterFault(firstOf(address), 'address');

/** The form that is stored. */
export const canonicalPattern = (match: FilterMatch, pattern: string): string => {
  if (match === 'sender') return comparableAddress(pattern);
  if (match === 'sender_domain') return canonicalMailDomain(pattern.replace(/^@/, '')) ?? pattern;
  return pattern;
};

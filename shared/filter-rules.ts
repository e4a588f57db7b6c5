// Rules of mail filters, separate from the schemas: mfctl compares files with stored filters and does not load the schemas.
import {canonicalMailDomain} from './domain-name.ts';
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
      return parseMailAddress(pattern) ? undefined : 'must be a mail address such as news@example.com';
    case 'sender_domain':
      return canonicalMailDomain(pattern.replace(/^@/, '')) ? undefined : 'must be a domain such as example.com';
    case 'subject':
    case 'header':
      return isGlob(pattern) ? undefined : 'ends in a lone \\; write \\\\ for a backslash';
    default:
      return undefined;
  }
};

/** The highest cost of one pattern, so that a thousand of them delay a mail little. */
const maxStars = 20;
const maxCharsWithAnyOne = 32;

/**
 * Why a new filter may not have this pattern, beside `patternFault`. Filters that were stored before these bounds existed stay, and
 * are applied like all others.
 */
export const patternCostFault = ({
  match,
  pattern,
}: {
  match?: FilterMatch | undefined;
  pattern?: string | undefined;
}): string | undefined => {
  if (typeof pattern !== 'string' || (match !== 'subject' && match !== 'header')) return undefined;
  const {stars, longestWithAnyOne} = globCost(pattern);
  if (stars > maxStars) return `has more than ${maxStars} *; take some out`;
  return longestWithAnyOne > maxCharsWithAnyOne
    ? `has a ? among more than ${maxCharsWithAnyOne} characters between two *; write the character that is meant, or a shorter part`
    : undefined;
};

/** The form that is stored. */
export const canonicalPattern = (match: FilterMatch, pattern: string): string => {
  if (match === 'sender') return comparableAddress(pattern);
  if (match === 'sender_domain') return canonicalMailDomain(pattern.replace(/^@/, '')) ?? pattern;
  return pattern;
};

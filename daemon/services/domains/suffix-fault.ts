// Rule for filters that let mail in: they are for domains of somebody, not for all that can be registered below a public suffix.
import {domainToASCII} from 'node:url';
import {letsIn} from '../../../shared/filter-rules.ts';
import type {MailFilter} from '../../../shared/mail-filter.ts';
import {loadPublicSuffixes} from '../public-suffixes.ts';

type Wanted = Pick<MailFilter, 'action' | 'match' | 'pattern' | 'score'>;

/** Why a new filter may not have this pattern. Filters that are stored already stay. */
export const suffixFault = async (filter: Wanted): Promise<string | undefined> => {
  const name = letsIn(filter) ? coveredDomain(filter) : undefined;
  if (name === undefined || !(await loadPublicSuffixes()).has(name)) return undefined;
  return `lets in everybody who registers a domain below ${name}; name the domains that are meant`;
};

/** The domain for all of which the pattern stands, if there is one. The node compares regardless of case. */
const coveredDomain = ({match, pattern}: Wanted): string | undefined => {
  switch (match) {
    case 'sender_domain':
      return pattern;
    case 'header':
      return endingOf(pattern);
    case 'sender':
    case 'subject':
      return undefined;
    default:
      return match satisfies never;
  }
};

/** `co.uk` of `*.co.uk`, `*@co.uk` and `*@*.co.uk>*`. A backslash makes no letter of a domain another one. */
const endingOf = (pattern: string): string | undefined => {
  const text = pattern.replaceAll('\\', '').replace(/[*?>\s]+$/, '');
  const from = Math.max(text.lastIndexOf('*'), text.lastIndexOf('?'), text.lastIndexOf('@'));
  if (from === -1 || !/[*?]/.test(text)) return undefined;
  const ending = text.slice(from + 1);
  if (text[from] !== '@' && !ending.startsWith('.')) return undefined;
  return domainToASCII(ending.replace(/^\./, '')) || undefined;
};

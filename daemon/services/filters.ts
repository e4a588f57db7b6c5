// The mail filters of a domain, applied to one mail.
import {addressParser} from 'postal-mime';
import {canonicalDomain} from '../../shared/domain-name.ts';
import {matchesGlob} from '../../shared/glob.ts';
import {comparableAddress} from '../../shared/mail-address.ts';
import type {MailFilter} from '../../shared/mail-filter.ts';
import {decodeHeader, headerValues, subjectOf, unfoldHeader} from './header-block.ts';
import type {ReceivedMail, Score} from './mail.ts';

export interface Filtered {
  score: Score;
  /** What an allow or block filter decided, whatever the score. */
  override?: 'relay' | 'block';
}

export type FilteredMail = Pick<ReceivedMail, 'envelope' | 'headers'>;

/**
 * Every matching `score` filter adds its score and a symbol. Of matching `allow` and `block` filters the most exact decides:
 * sender before sender_domain (the longer before the shorter) before header before subject; at equal rank `block`.
 *
 * What lets mail in (`allow`, a negative `score`) is compared with the envelope sender alone, which SPF can check; what keeps
 * mail out also with the addresses in `From`, which is what the reader sees. The reason stays the scorer's.
 */
export const applyFilters = (filters: readonly MailFilter[], mail: FilteredMail, score: Score): Filtered => {
  const matches = matcherOf(mail);
  const matching = filters.filter(matches);

  const added = matching.filter(filter => filter.action === 'score').map(filter => filter.score ?? 0);
  const symbols = added.map(points => ({name: 'FILTER_SCORE', score: points}));
  const sum = added.length === 0 ? score.score : rounded(added.reduce((total, points) => total + points, score.score));

  const decisive = matching.filter(filter => filter.action !== 'score').sort(byExactness)[0];
  const decided = decisive && [{name: decisive.action === 'allow' ? 'FILTER_ALLOW' : 'FILTER_BLOCK', score: 0}];
  return {
    score: {...score, score: sum, symbols: [...score.symbols, ...symbols, ...(decided ?? [])]},
    ...(decisive && {override: decisive.action === 'allow' ? 'relay' : 'block'}),
  };
};

const ranks: Record<MailFilter['match'], number> = {sender: 3, sender_domain: 2, header: 1, subject: 0};

const byExactness = (a: MailFilter, b: MailFilter): number =>
  ranks[b.match] - ranks[a.match] ||
  (a.match === 'sender_domain' ? b.pattern.length - a.pattern.length : 0) ||
  (a.action === b.action ? 0 : a.action === 'block' ? -1 : 1);

/** 5.9 + 0.1 is 6, also for a threshold. */
const rounded = (score: number): number => Math.round(score * 1000) / 1000;

/** A header of which there are many, or that is long, must not keep the node from other mail. */
const maxHeaderValues = 50;
const maxHeaderChars = 2048;
const maxAddresses = 100;

const matcherOf = ({envelope, headers}: FilteredMail): ((filter: MailFilter) => boolean) => {
  const sender = comparableAddress(envelope.sender);
  const authors = once(() => addressesIn(headerValues(headers, 'from')).map(comparableAddress));
  const subject = once(() => subjectOf(headers));
  const values = new Map<string, string[]>();
  const valuesOf = (name: string): string[] => {
    const known = values.get(name);
    if (known) return known;
    const found = headerValues(headers, name).slice(0, maxHeaderValues);
    const decoded = found.map(value => decodeHeader(value, maxHeaderChars));
    values.set(name, decoded);
    return decoded;
  };

  return filter => {
    const {match, pattern} = filter;
    const senders = () => (letsIn(filter) ? [sender] : [sender, ...authors()]);
    switch (match) {
      case 'sender':
        return senders().includes(pattern);
      case 'sender_domain':
        return senders().some(address => isWithin(address, pattern));
      case 'subject':
        return matchesGlob(pattern, subject());
      case 'header':
        return valuesOf((filter.header ?? '').toLowerCase()).some(value => matchesGlob(pattern, value));
      default:
        return match satisfies never;
    }
  };
};

const letsIn = ({action, score}: MailFilter): boolean => action === 'allow' || (action === 'score' && (score ?? 0) < 0);

/** The whole text after the @ is looked at, so that an odd local part does not get an address past its domain's filter. */
const isWithin = (address: string, domain: string): boolean => {
  const own = canonicalDomain(address.slice(address.lastIndexOf('@') + 1));
  return own !== undefined && (own === domain || own.endsWith(`.${domain}`));
};

/** Parsed before encoded words are decoded: a decoded name may look like an address, or hide one. */
const addressesIn = (values: readonly string[]): string[] =>
  values
    .slice(0, maxHeaderValues)
    .flatMap(value => addressParser(unfoldHeader(value), {flatten: true}))
    .flatMap(({address}) => address || [])
    .slice(0, maxAddresses);

const once = <T>(make: () => T): (() => T) => {
  let made: {value: T} | undefined;
  return () => {
    made ??= {value: make()};
    return made.value;
  };
};

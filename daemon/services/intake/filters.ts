// Mail filters of a domain and for all domains, applied to one mail.
import {groupBy} from '../../../shared/collections.ts';
import {canonicalMailDomain} from '../../../shared/domain-name.ts';
import {letsIn} from '../../../shared/filter-rules.ts';
import {compileGlob, type GlobText, globText} from '../../../shared/glob.ts';
import {comparableAddress} from '../../../shared/mail-address.ts';
import type {MailFilter} from '../../../shared/mail-filter.ts';
import type {EventLoopYield} from '../event-loop-yield.ts';
import {allDomains} from '../records.ts';
import {readAuthorField} from './author-field.ts';
import {decodeHeader, subjectOf} from './header-block.ts';
import type {ReceivedMail, Score} from './mail.ts';

interface Filtered {
  score: Score;
  /** The decision of an allow or block filter, which overrides the score. */
  override: 'relay' | 'block' | undefined;
}

export interface FilteredMail extends Pick<ReceivedMail, 'envelope' | 'headers'> {
  /** Whether the mail really comes from the domain of its envelope sender, or from a client that is believed. */
  isAuthentic: boolean;
}

/** A filter, prepared for many mails. */
export interface CompiledFilter {
  filter: MailFilter;
  matches(view: MailView): boolean;
}

/** The filters for mail of one domain. */
export interface FilterSet {
  readonly filters: readonly MailFilter[];
  /**
   * Every matching `score` filter adds its score and a symbol. Among matching `allow` and `block` filters the most specific
   * decides: sender before sender_domain (longer before shorter) before header before subject. On a tie a filter of the domain
   * wins over one for all domains, and then `block` wins.
   *
   * Filters that let mail in (`allow`, a negative `score`) match only the envelope sender, which SPF can check, and with
   * `authenticated` only mail that really comes from its domain. Filters that keep mail out also match the addresses in `From`,
   * which the reader sees. The scorer's reason is unchanged.
   */
  apply(mail: FilteredMail, score: Score): Promise<Filtered>;
}

/** Time on the event loop before other work may run. One filter takes only a fraction of it. */
const sliceMs = 2;

/** Up to this number, filters run without a yield first: any such set finishes faster than a yield. */
const fewFilters = 10;

export const compileFilters = (filters: readonly MailFilter[]): CompiledFilter[] =>
  filters.map(filter => ({filter, matches: compile(filter)}));

export const createFilterSet = (compiled: readonly CompiledFilter[], yieldNow: EventLoopYield): FilterSet => ({
  get filters() {
    return compiled.map(({filter}) => filter);
  },
  async apply(mail, score) {
    const view = viewOf(mail);
    const matching: MailFilter[] = [];
    if (compiled.length > fewFilters) await yieldNow();
    let sliceStart = performance.now();
    for (const {filter, matches} of compiled) {
      if (performance.now() - sliceStart > sliceMs) {
        await yieldNow();
        sliceStart = performance.now();
      }
      if (matches(view) && (mail.isAuthentic || !needsAuthentication(filter))) matching.push(filter);
    }
    return decided(matching, score);
  },
});

const decided = (matching: readonly MailFilter[], score: Score): Filtered => {
  const added = matching.filter(filter => filter.action === 'score').map(filter => filter.score ?? 0);
  const symbols = added.map(points => ({name: 'FILTER_SCORE', score: points}));
  const sum = added.length === 0 ? score.score : rounded(added.reduce((total, points) => total + points, score.score));

  const decisive = matching.filter(filter => filter.action !== 'score').sort(bySpecificity)[0];
  const decision = decisive && [{name: decisive.action === 'allow' ? 'FILTER_ALLOW' : 'FILTER_BLOCK', score: 0}];
  return {
    score: {...score, score: sum, symbols: [...score.symbols, ...symbols, ...(decision ?? [])]},
    override: decisive && (decisive.action === 'allow' ? 'relay' : 'block'),
  };
};

const ranks: Record<MailFilter['match'], number> = {sender: 3, sender_domain: 2, header: 1, subject: 0};

const bySpecificity = (a: MailFilter, b: MailFilter): number =>
  ranks[b.match] - ranks[a.match] ||
  (a.match === 'sender_domain' ? b.pattern.length - a.pattern.length : 0) ||
  Number(isForAll(a)) - Number(isForAll(b)) ||
  (a.action === b.action ? 0 : a.action === 'block' ? -1 : 1);

const isForAll = ({domain_id}: MailFilter): boolean => domain_id === allDomains;

/** Removes floating point errors, so that 5.9 + 0.1 reaches a threshold of 6. */
const rounded = (score: number): number => Math.round(score * 1000) / 1000;

/** Bounds the work for a mail with many or very long headers. */
const maxHeaderValues = 50;
const maxHeaderChars = 2048;
const maxTotalChars = 8192;
const maxAddresses = 100;

/** The parts of a mail that filters match. Each is computed when a filter first needs it. */
interface MailView {
  sender: string;
  authors(): string[];
  /** The sender's domain and its parent domains. */
  senderDomains(): ReadonlySet<string>;
  /** The domains of the sender and all authors, with their parent domains. */
  allDomains(): ReadonlySet<string>;
  subject(): GlobText;
  header(name: string): GlobText[];
}

const viewOf = ({envelope, headers}: FilteredMail): MailView => {
  const byName = once(() => groupBy(headers, ({name}) => name.toLowerCase()));
  const valuesOf = (name: string) => (byName().get(name) ?? []).slice(0, maxHeaderValues).map(({value}) => value);
  const texts = new Map<string, GlobText[]>();
  const sender = comparableAddress(envelope.sender);
  const authors = once(() => addressesIn(valuesOf('from')).map(comparableAddress));
  return {
    sender,
    authors,
    senderDomains: once(() => new Set(domainsOf(sender))),
    allDomains: once(() => new Set([sender, ...authors()].flatMap(domainsOf))),
    subject: once(() => globText(subjectOf(headers))),
    header(name) {
      const known = texts.get(name);
      if (known) return known;
      const decoded = withinLimit(valuesOf(name), value => decodeHeader(value, maxHeaderChars)).map(globText);
      texts.set(name, decoded);
      return decoded;
    },
  };
};

/** Maps `values` with `make` until the texts reach the total limit; the last one may be truncated. */
const withinLimit = (values: readonly string[], make: (value: string) => string): string[] => {
  const texts: string[] = [];
  let left = maxTotalChars;
  for (const value of values) {
    if (left <= 0) break;
    const text = make(value).slice(0, left);
    left -= text.length;
    texts.push(text);
  }
  return texts;
};

const compile = (filter: MailFilter): ((view: MailView) => boolean) => {
  const {match, pattern} = filter;
  const senders = ({sender, authors}: MailView) => (letsIn(filter) ? [sender] : [sender, ...authors()]);
  switch (match) {
    case 'sender':
      return view => senders(view).includes(pattern);
    case 'sender_domain': {
      const domains = (view: MailView) => (letsIn(filter) ? view.senderDomains() : view.allDomains());
      return view => domains(view).has(pattern);
    }
    case 'subject': {
      const matches = compileGlob(pattern);
      return view => matches(view.subject());
    }
    case 'header': {
      const matches = compileGlob(pattern);
      const name = (filter.header ?? '').toLowerCase();
      return view => view.header(name).some(matches);
    }
    default:
      return match satisfies never;
  }
};

const needsAuthentication = (filter: MailFilter): boolean => filter.authenticated && letsIn(filter);

/**
 * The domain of an address and its parent domains. Uses all text after the last @, so that an unusual local part does not get an address
 * past the filter of its domain.
 */
const domainsOf = (address: string): string[] => {
  const labels = canonicalMailDomain(address.slice(address.lastIndexOf('@') + 1))?.split('.') ?? [];
  return labels.map((_, at) => labels.slice(at).join('.'));
};

/** Without those in names, decoded or not: a name may look like an address. */
const addressesIn = (values: readonly string[]): string[] =>
  withinLimit(values, value => value)
    .flatMap(value => readAuthorField(value).addresses)
    .flatMap(({local, domain}) => (domain === undefined ? [] : `${local}@${domain}`))
    .slice(0, maxAddresses);

const once = <T>(make: () => T): (() => T) => {
  let made: {value: T} | undefined;
  return () => {
    made ??= {value: make()};
    return made.value;
  };
};

// Finding of the check of one record, in words. Names and texts come from DNS: they are bounded here, and made safe where they
// are shown.
import {type DnsState, maxFound, maxFoundChars} from '../../../shared/domain-dns.ts';
import type {SpfResult} from '../../../shared/mail-authentication.ts';
import type {DnsFacts} from '../../services/dns/wanted-records.ts';
import {noneIfMissing} from '../authentication/dmarc-lookups.ts';
import type {Lookup} from '../lookup.ts';
import type {SpfQuestion} from '../readers/check-sender.ts';

export interface Finding {
  state: DnsState;
  found: string[];
  detail: string;
  /** The wanted records, where these keep parts of the present ones. */
  values?: string[];
}

export interface CheckNeeds {
  facts: DnsFacts;
  lookup: Lookup;
  /** Each question has a time limit of its own. */
  checkSender(question: SpfQuestion): Promise<SpfResult>;
  /** The addresses of each node in DNS. Rejects when DNS gives no answer. */
  addresses: Promise<ReadonlyMap<string, readonly string[]>>;
}

export const right = (found: readonly string[], detail = ''): Finding => ({state: 'right', found: bounded(found), detail});

export const missing: Finding = {state: 'missing', found: [], detail: ''};

export const differs = (found: readonly string[], detail: string): Finding => ({
  state: 'differs',
  found: bounded(found),
  detail: cut(detail),
});

export const noAnswer: Finding = {state: 'unknown', found: [], detail: 'the name servers did not answer in time'};

const bounded = (texts: readonly string[]): string[] => texts.slice(0, maxFound).map(cut);

const cut = (text: string): string => (text.length > maxFoundChars ? `${text.slice(0, maxFoundChars - 1)}…` : text);

const maxNamed = 5;

/** `one, two and 7 more` */
export const named = (names: readonly string[]): string => {
  const rest = names.length - maxNamed;
  return names.slice(0, maxNamed).join(', ') + (rest > 0 ? ` and ${rest} more` : '');
};

/** The TXT records of a name, each as one string. */
export const textsOf = async (lookup: Lookup, name: string): Promise<string[]> => {
  const records = (await lookup(name, 'TXT').catch(noneIfMissing)) as string[][];
  return records.map(parts => parts.join(''));
};

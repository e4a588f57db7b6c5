// DMARC policy records (RFC 9989 sections 4.7 and 4.8).
import {type DmarcPolicy, dmarcPolicies} from '../../../shared/mail-authentication.ts';
import type {DmarcRecord} from '../../services/intake/dmarc-outcome.ts';
import {tagsOf} from './record-tags.ts';

/**
 * The record among the TXT records of one name: undefined when there is none, when there are several, or when its policy is invalid and
 * it asks for no reports. Unknown tags are ignored, invalid values are replaced by the default.
 */
export const parseDmarcRecord = (texts: readonly string[]): DmarcRecord | undefined => {
  const [text, another] = texts.filter(isDmarcRecord);
  return text === undefined || another !== undefined ? undefined : recordOf(tagsOf(text));
};

export const isDmarcRecord = (text: string): boolean => /^v[ \t]*=[ \t]*DMARC1[ \t]*(;|$)/.test(text);

const recordOf = (tags: ReadonlyMap<string, string>): DmarcRecord | undefined => {
  const reportTo = mailboxesOf(tags.get('rua'));
  const policies = ['p', 'sp', 'np'].map(name => policyOf(tags.get(name)));
  const isInvalid = policies.includes('invalid');
  // RFC 9989 section 4.10.1: act as if `p=none` was published, or apply nothing.
  if (isInvalid && reportTo.length === 0) return undefined;
  const [p, sp, np] = policies.map(policy => (isInvalid || policy === 'invalid' ? undefined : policy));
  const psd = tags.get('psd')?.toLowerCase();
  return {
    p: p ?? 'none',
    sp,
    np,
    isDkimStrict: tags.get('adkim')?.toLowerCase() === 's',
    isSpfStrict: tags.get('aspf')?.toLowerCase() === 's',
    psd: psd === 'y' || psd === 'n' ? psd : 'u',
    isTesting: tags.get('t')?.toLowerCase() === 'y',
    reportTo,
    fo: /^[01ds](:[01ds]){0,3}$/.exec(tags.get('fo') ?? '')?.[0],
  };
};

const policyOf = (value: string | undefined): DmarcPolicy | 'invalid' | undefined =>
  value === undefined ? undefined : (dmarcPolicies.find(policy => policy === value.toLowerCase()) ?? 'invalid');

const maxReportAddresses = 10;

const mailboxesOf = (uris: string | undefined): string[] =>
  (uris ?? '')
    .split(',')
    .flatMap(uri => mailboxOf(uri.trim()) ?? [])
    .flatMap(address => decoded(address) ?? [])
    .slice(0, maxReportAddresses);

const maxLocalChars = 320;
const maxDomainChars = 255;

/**
 * The obsolete maximal size after an exclamation mark is ignored. The last `@` is searched for without a regular expression: the time of one with a
 * part before it, a part after it and blanks grows with the cube of their lengths.
 */
const mailboxOf = (uri: string): string | undefined => {
  const address = /^mailto:([^?!]+)(?:![0-9]+[kmgt]?)?$/i.exec(uri)?.[1] ?? '';
  const at = address.lastIndexOf('@');
  const isBounded = at > 0 && at <= maxLocalChars && address.length - at - 1 <= maxDomainChars;
  return isBounded && at < address.length - 1 ? address : undefined;
};

const decoded = (text: string): string | undefined => {
  try {
    return decodeURIComponent(text).trim();
  } catch {
    return undefined;
  }
};

// DMARC (RFC 9989): the policy for the author domain of a mail, and whether one of its authenticated identifiers aligns with it.
import type {DmarcPolicy} from '../../../shared/mail-authentication.ts';
import type {DmarcOutcome, DmarcRecord, Mechanism, PublishedPolicy} from '../../services/intake/dmarc-outcome.ts';
import {parseDmarcRecord} from './dmarc-record.ts';

/** DNS lookups. Both reject when DNS gives no answer. */
export interface DmarcLookups {
  /** The TXT records of a name; empty when there are none. */
  texts(name: string): Promise<string[]>;
  /** Whether the domain has an address or a mail exchanger (RFC 9989 section 3.2.13). */
  exists(domain: string): Promise<boolean>;
}

/** `isUnknown`: whether the domain is authenticated could not be found out. */
export interface Identifier {
  mechanism: Mechanism;
  domain: string;
  isUnknown: boolean;
}

/** What DNS says of an author domain. */
export interface Discovery {
  author: string;
  organization: string;
  /** Undefined when DMARC does not apply. */
  found?: {published: PublishedPolicy; policy: DmarcPolicy};
}

/** Policy discovery (RFC 9989 section 4.10.1). Domains are in lower case, with A-labels. Rejects when DNS gives no answer. */
export const discoverPolicy = async (author: string, lookups: DmarcLookups): Promise<Discovery> => {
  const walk = await walkTree(author, lookups);
  const organization = organizationalDomain(author, walk);
  const published = policyRecord(author, walk);
  if (!published) return {author, organization};
  return {author, organization, found: {published, policy: await policyFor(author, published, lookups)}};
};

/** Whether one of the identifiers authenticates the author domain. */
export const evaluateDmarc = async (
  {author, organization, found}: Discovery,
  identifiers: readonly Identifier[],
  lookups: DmarcLookups,
): Promise<DmarcOutcome> => {
  if (!found) return {result: 'none', aligned: []};
  const {aligned, isUnknown} = await align({author, organization, identifiers, lookups, record: found.published.record});
  return {...found, result: aligned.length > 0 ? 'pass' : isUnknown ? 'temperror' : 'fail', aligned};
};

/** The records from the domain upwards, longest first (RFC 9989 section 4.10): at most eight questions. */
const walkTree = async (start: string, {texts}: DmarcLookups): Promise<PublishedPolicy[]> => {
  const found: PublishedPolicy[] = [];
  for (const domain of namesAbove(start)) {
    const record = parseDmarcRecord(await texts(`_dmarc.${domain}`));
    if (record) found.push({domain, record});
    if (record && record.psd !== 'u') break;
  }
  return found;
};

const maxLabels = 7;

const namesAbove = (domain: string): string[] => {
  const labels = domain.split('.');
  const above = labels.slice(Math.max(1, labels.length - maxLabels));
  return [domain, ...above.map((_, at) => above.slice(at).join('.'))];
};

/** RFC 9989 section 4.10.2. */
const organizationalDomain = (start: string, walk: readonly PublishedPolicy[]): string => {
  for (const {domain, record} of walk) {
    if (record.psd === 'n') return domain;
    if (record.psd === 'y' && domain !== start) return oneBelow(domain, start);
  }
  return walk.at(-1)?.domain ?? start;
};

/** The domain one label below `suffix`, towards `domain`. */
const oneBelow = (suffix: string, domain: string): string =>
  domain
    .split('.')
    .slice(-(suffix.split('.').length + 1))
    .join('.');

/** The author domain, its organizational domain, or its public suffix (RFC 9989 section 4.10.1). */
const policyRecord = (author: string, walk: readonly PublishedPolicy[]): PublishedPolicy | undefined => {
  const organization = organizationalDomain(author, walk);
  return (
    walk.find(({domain}) => domain === author) ??
    walk.find(({domain}) => domain === organization) ??
    walk.find(({record}) => record.psd === 'y')
  );
};

const policyFor = async (author: string, {domain, record}: PublishedPolicy, {exists}: DmarcLookups): Promise<DmarcPolicy> => {
  const {p, sp, np, isTesting} = record;
  const forSubdomains = sp ?? p;
  const isMissing = domain !== author && np !== undefined && !(await exists(author));
  const policy = domain === author ? p : isMissing ? np : forSubdomains;
  return isTesting ? oneLevelBelow[policy] : policy;
};

const oneLevelBelow: Record<DmarcPolicy, DmarcPolicy> = {none: 'none', quarantine: 'none', reject: 'quarantine'};

interface AlignNeeds {
  author: string;
  organization: string;
  identifiers: readonly Identifier[];
  lookups: DmarcLookups;
  record: DmarcRecord;
}

const align = async ({author, organization, identifiers, lookups, record}: AlignNeeds) => {
  const aligned = new Set<Mechanism>();
  let isUnknown = false;
  for (const {mechanism, domain, isUnknown: isOpen} of identifiers) {
    const isStrict = mechanism === 'spf' ? record.isSpfStrict : record.isDkimStrict;
    // Sender and signer choose their domains: what DNS does not say of a domain that cannot align is no excuse.
    const mayAlign = isStrict ? domain === author : isRelated(domain, organization);
    if (!mayAlign) continue;
    const own = isStrict || domain === author ? organization : await organizationOf(domain, lookups);
    if (own === organization && !isOpen) aligned.add(mechanism);
    else if (own === organization || own === undefined) isUnknown = true;
  }
  return {aligned: [...aligned], isUnknown};
};

/** An organizational domain is the domain itself or one above it. */
const isRelated = (domain: string, organization: string): boolean =>
  domain === organization || domain.endsWith(`.${organization}`);

/** Undefined when DNS gives no answer. */
export const organizationOf = async (domain: string, lookups: DmarcLookups): Promise<string | undefined> =>
  walkTree(domain, lookups).then(
    walk => organizationalDomain(domain, walk),
    () => undefined,
  );

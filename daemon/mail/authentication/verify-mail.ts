// Authentication of one mail by SPF (RFC 7208), DKIM, ARC and DMARC.
import {canonicalMailDomain} from '../../../shared/domain-name.ts';
import {plainAddress} from '../../../shared/host-port.ts';
import {domainOf} from '../../../shared/mail-address.ts';
import {dmarcPolicies, type MailAuthentication} from '../../../shared/mail-authentication.ts';
import type {DmarcOutcome} from '../../services/intake/dmarc-outcome.ts';
import type {ReceivedMail, Verified} from '../../services/intake/mail.ts';
import type {Lookup} from '../lookup.ts';
import type {Readers} from '../readers/readers.ts';
import {type Authors, authorsOf, isAuthorHidden} from './author-domains.ts';
import {verifySignatures} from './dkim-signatures.ts';
import {type Discovery, type DmarcLookups, discoverPolicy, evaluateDmarc, type Identifier} from './dmarc.ts';
import {dmarcLookups} from './dmarc-lookups.ts';

/** What could not be found out is `temperror`. Rejects when no process can be started to read the mail. */
export const verifyMail = async (
  mail: ReceivedMail,
  {newLookup, fqdn, readers}: {newLookup: () => Lookup; fqdn: string; readers: Pick<Readers, 'checkSender' | 'checkSignatures'>},
): Promise<Verified> => {
  // Each has a time limit of its own: what the sender makes it ask for must not use up the time for the policy of the author.
  const policies = dmarcLookups(newLookup());
  const read = authorsOf(mail.headers);
  const authors = {...read, isUnclear: read.isUnclear || isAuthorHidden(mail)};
  const [discoveries, spf, {dkim, arc}] = await Promise.all([
    Promise.all(authors.domains.map(async domain => discoverPolicy(domain, policies).catch(() => undefined))),
    spfOf(mail, {lookup: newLookup(), fqdn, readers}),
    verifySignatures(mail, newLookup(), readers.checkSignatures),
  ]);
  const identifiers: Identifier[] = [
    {mechanism: 'spf' as const, ...spf},
    ...dkim.map(({result, domain}) => ({mechanism: 'dkim' as const, result, domain})),
  ].flatMap(({mechanism, result, domain}) =>
    result === 'pass' || result === 'temperror' ? [{mechanism, domain, isUnknown: result === 'temperror'}] : [],
  );
  const {failed, ...dmarc} = await judgeAuthors(authors, {identifiers, discoveries, lookups: dmarcLookups(newLookup())});
  const {result, policy = null, author} = dmarc;
  return {
    results: {spf, dkim, dmarc: {result, policy, domain: failed ?? authors.domains[0] ?? ''}, arc},
    dmarc,
    authorship: authors.isUnclear ? 'unclear' : author === undefined && authors.domains.length > 0 ? 'several' : 'clear',
  };
};

/** The envelope sender, or the greeting for a bounce. */
const spfOf = async (
  {client, envelope: {sender}}: ReceivedMail,
  {lookup, fqdn, readers}: {lookup: Lookup; fqdn: string; readers: Pick<Readers, 'checkSender'>},
): Promise<MailAuthentication['spf']> => {
  const {helo} = client;
  const domain = sender === '' ? canonicalMailDomain(helo) : domainOf(sender);
  // A greeting may be any text: with `x@bank.test` the domain would be checked, and the result would be about nobody.
  if (domain === undefined) return {result: 'none', domain: ''};
  const result = await readers.checkSender({ip: plainAddress(client.ip), helo, sender, mta: fqdn}, lookup);
  return {result, domain};
};

interface AuthorEvidence {
  identifiers: readonly Identifier[];
  /** Of the domains of the authors, in their order; undefined where DNS gave no answer. */
  discoveries: readonly (Discovery | undefined)[];
  lookups: DmarcLookups;
}

/** `failed`: the domain whose policy the mail fails. */
type JudgedAuthors = DmarcOutcome & {failed?: string};

/**
 * An author that is unclear fails, and so do several: the reader may see any of them, so the mail fails the strictest of their policies.
 * A domain that is only named beside the address makes several where the mail does not meet its policy.
 */
const judgeAuthors = async (authors: Authors, {identifiers, discoveries, lookups}: AuthorEvidence): Promise<JudgedAuthors> => {
  const {domain, isUnclear} = authors;
  if (!isUnclear && authors.domains.length === 0) return {result: 'none', aligned: []};
  if (isUnclear || domain === undefined) return failedBy(discoveries, isUnclear);

  const outcomes = await Promise.all(
    discoveries.map(async discovery => (discovery ? evaluateDmarc(discovery, identifiers, lookups) : unknown)),
  );
  const [own = unknown, ...named] = outcomes;
  if (named.some(({result}) => result === 'fail')) return failedBy(discoveries, true);
  return named.find(({result}) => result === 'temperror') ?? {...own, author: domain};
};

const unknown: DmarcOutcome = {result: 'temperror', aligned: []};

const failedBy = (discoveries: readonly (Discovery | undefined)[], isCertain: boolean): JudgedAuthors => {
  const strictness = (discovery: Discovery | undefined) => dmarcPolicies.indexOf(discovery?.found?.policy ?? 'none');
  const [strictest] = discoveries.toSorted((one, other) => strictness(other) - strictness(one));
  if (strictest?.found) return {...strictest.found, result: 'fail', aligned: [], failed: strictest.author};
  return isCertain || !discoveries.includes(undefined) ? {result: 'fail', aligned: []} : unknown;
};

// Authentication of one mail by SPF (RFC 7208), DKIM, ARC and DMARC.
import {canonicalDomain} from '../../../shared/domain-name.ts';
import {plainAddress} from '../../../shared/host-port.ts';
import {domainOf} from '../../../shared/mail-address.ts';
import {dmarcPolicies, type MailAuthentication} from '../../../shared/mail-authentication.ts';
import type {DmarcOutcome} from '../../services/dmarc/dmarc-outcome.ts';
import type {ReceivedMail, Verified} from '../../services/intake/mail.ts';
import type {Lookup} from '../lookup.ts';
import type {Readers} from '../readers/readers.ts';
import {authorsOf} from './author-domains.ts';
import {verifySignatures} from './dkim-signatures.ts';
import {type Discovery, type DmarcLookups, discoverPolicy, evaluateDmarc, type Identifier} from './dmarc.ts';
import {dmarcLookups} from './dmarc-lookups.ts';

/** What could not be found out is `temperror`. Rejects when no process can be started that reads the mail. */
export const verifyMail = async (
  mail: ReceivedMail,
  {newLookup, fqdn, readers}: {newLookup: () => Lookup; fqdn: string; readers: Pick<Readers, 'checkSender' | 'checkSignatures'>},
): Promise<Verified> => {
  // Each has time of its own: what the sender makes it ask for must not use up the time for the policy of the author.
  const policies = dmarcLookups(newLookup());
  const authors = authorsOf(mail.headers);
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
  const [first = ''] = authors.domains;
  const dmarc = await judgeAuthors(authors.isOne ? identifiers : undefined, discoveries, dmarcLookups(newLookup()));
  const {result, policy = null} = dmarc;
  return {
    results: {spf, dkim, dmarc: {result, policy, domain: first}, arc},
    dmarc: {...dmarc, author: authors.isOne ? first : undefined},
  };
};

/** The envelope sender, or the greeting for a bounce. */
const spfOf = async (
  {client, envelope: {sender}}: ReceivedMail,
  {lookup, fqdn, readers}: {lookup: Lookup; fqdn: string; readers: Pick<Readers, 'checkSender'>},
): Promise<MailAuthentication['spf']> => {
  const {helo} = client;
  const result = await readers.checkSender({ip: plainAddress(client.ip), helo, sender, mta: fqdn}, lookup);
  const domain = sender === '' ? canonicalDomain(helo) : domainOf(sender);
  return {result, domain: domain ?? ''};
};

/**
 * `identifiers` are undefined when there is no author, or several: they cannot be authenticated, and the mail fails the strictest of
 * their policies. A discovery is undefined when DNS gave no answer.
 */
const judgeAuthors = async (
  identifiers: readonly Identifier[] | undefined,
  discoveries: readonly (Discovery | undefined)[],
  lookups: DmarcLookups,
): Promise<DmarcOutcome> => {
  const strictness = (discovery: Discovery | undefined) => dmarcPolicies.indexOf(discovery?.found?.policy ?? 'none');
  const [strictest] = discoveries.toSorted((one, other) => strictness(other) - strictness(one));
  if (strictest?.found || (strictest && identifiers)) return evaluateDmarc(strictest, identifiers ?? [], lookups);
  return {result: discoveries.includes(undefined) ? 'temperror' : 'fail', aligned: []};
};

// DNS records of domains, wired to the nodes of the cluster, DNS and the reports of others.

import {createDnsCheck} from '../mail/dns-check/check-records.ts';
import type {Lookup} from '../mail/lookup.ts';
import type {Readers} from '../mail/readers/readers.ts';
import type {ReportedView} from '../services/dmarc/reported-view.ts';
import {dayOf} from '../services/dmarc/reporter.ts';
import {createDnsView, type DnsView} from '../services/dns/domain-dns.ts';
import type {DomainParts} from '../services/domains/domain-parts.ts';
import type {Domains} from '../services/domains/domains.ts';
import type {MailClaim} from '../services/intake/intake.ts';
import type {Base} from './base.ts';

interface Needs {
  domains: Domains;
  domainParts: DomainParts;
  claim: MailClaim;
  freshLookup(): Lookup;
  readers: Readers;
  dmarc: ReportedView;
}

const reportedMs = 30 * 86_400_000;

export const openDnsView = (
  {config, settings, records: {nodeDirectory}, now}: Pick<Base, 'config' | 'settings' | 'records' | 'now'>,
  {domains, domainParts, claim, freshLookup, readers, dmarc}: Needs,
): DnsView =>
  createDnsView({
    domains,
    parts: domainParts,
    hosts: () => nodeDirectory.list().map(({fqdn}) => fqdn),
    receiveAt: config.dmarc.receive_at,
    takesMailTo: address => claim({isTrusted: false}, '', address).kind === 'owned',
    hasCertificate: () => settings().hasOwnCertificate,
    check: createDnsCheck(freshLookup, readers.checkSender),
    async reported(actor, domain) {
      const {result} = await dmarc.sources(actor, {domain, since: dayOf(now() - reportedMs), isVerified: true});
      return result;
    },
  });

// DNS records of one domain: what they should be, what DNS has, and what to do about it.

import type {DnsRecord, DomainDns} from '../../../shared/domain-dns.ts';
import {canonicalDomain} from '../../../shared/domain-name.ts';
import type {DmarcPolicy} from '../../../shared/mail-authentication.ts';
import type {Actor} from '../actor.ts';
import type {DomainParts} from '../domains/domain-parts.ts';
import type {Domains} from '../domains/domains.ts';
import {loadPublicSuffixes} from '../public-suffixes.ts';
import {adviceOf, type ReportedResults} from './dmarc-advice.ts';
import {type DnsFacts, isReceived, mtaStsPolicy, type WantedRecord, wantedRecords} from './wanted-records.ts';

export interface DnsView {
  /** Throws a Fault `not_found` for a domain outside the actor's access scope. With `isChecked` it asks DNS. */
  of(actor: Actor, domainId: number, options: {isChecked: boolean}): Promise<DomainDns>;
}

/** What DNS has. Never rejects because of DNS: what could not be found out is `unknown`. */
export type CheckDns = (wanted: readonly WantedRecord[], facts: DnsFacts) => Promise<CheckedDns>;

interface CheckedDns {
  /** One for each wanted record, in the same order. */
  records: DnsRecord[];
  /** The DMARC policy in DNS, if there is a valid one. */
  published: DmarcPolicy | undefined;
}

interface Needs {
  domains: Pick<Domains, 'get'>;
  parts: Pick<DomainParts, 'dkimKeys'>;
  /** The names of all nodes. */
  hosts(): readonly string[];
  receiveAt(): readonly string[];
  /** Whether this cluster takes mail to the address. */
  takesMailTo(address: string): boolean;
  hasCertificate(): boolean;
  check: CheckDns;
  /** What verified senders of reports say of a domain, for 30 days. */
  reported(actor: Actor, domain: string): Promise<ReportedResults>;
}

export const createDnsView = ({
  domains,
  parts,
  hosts,
  receiveAt,
  takesMailTo,
  hasCertificate,
  check,
  reported,
}: Needs): DnsView => ({
  async of(actor, domainId, {isChecked}) {
    const domain = domains.get(actor, domainId);
    const addresses = receiveAt();
    const facts = {
      domain,
      keys: await parts.dkimKeys(actor, domainId),
      hosts: [...new Set(hosts().map(host => host.toLowerCase()))],
      receiveAt: addresses,
      unread: addresses.filter(address => !takesMailTo(address)),
      hasCertificate: hasCertificate(),
    };
    const wanted = wantedRecords(facts);
    const common = {domain: domain.name, mta_sts_policy: mtaStsPolicy(facts)};
    const advice = setupAdvice(facts);
    if (!isChecked) return {...common, records: wanted.map(unchecked), advice};

    const [{records, published}, results] = await Promise.all([check(wanted, facts), reported(actor, domain.name)]);
    // Without an address for reports there cannot be any.
    const dmarcAdvice = addresses.length === 0 ? [] : adviceOf({published, results, ...(await loadPublicSuffixes())});
    return {...common, records, advice: [...advice, ...dmarcAdvice]};
  },
});

const unchecked = (record: WantedRecord): DnsRecord => ({...record, state: null, found: [], detail: ''});

/** Advice on settings without which the records cannot be complete. */
export const setupAdvice = ({domain, keys, hosts, receiveAt, unread, hasCertificate}: DnsFacts): string[] => {
  const {name, dkim_active} = domain;
  const unfindable = hosts.filter(host => canonicalDomain(host) === undefined);
  return [
    ...unfindable.map(host => `A node is called ${host}, which other servers cannot find in DNS: set fqdn in its mfd.yaml`),
    ...(dkim_active && keys.length === 0
      ? [`DKIM is on without a key, so mail leaves unsigned: mfctl domain dkim create ${name} --selector NAME`]
      : []),
    ...(receiveAt.length === 0
      ? ['Reports about this domain go nowhere: set dmarc.receive_at in mfd.yaml to the address that they should be sent to']
      : []),
    ...unread.map(
      address => `Reports to ${address} are not read here: dmarc.receive_at needs an address of a domain that takes mail here`,
    ),
    ...(isReceived(domain) && !hasCertificate
      ? ['Without MTA-STS and TLS-RPT: other servers cannot verify a certificate of the cluster; set api.cert_file in mfd.yaml']
      : []),
  ];
};

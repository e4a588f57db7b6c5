// The DNS records that a domain should have, so that its mail comes through this cluster and is believed elsewhere.
import {createHash} from 'node:crypto';
import type {DkimKey} from '../../../shared/dkim-key.ts';
import type {Domain} from '../../../shared/domain.ts';
import type {DnsRecord} from '../../../shared/domain-dns.ts';
import {domainOf} from '../../../shared/mail-address.ts';

export interface DnsFacts {
  domain: Pick<Domain, 'name' | 'direction' | 'dkim_active'>;
  keys: readonly Pick<DkimKey, 'dns_name' | 'dns_record'>[];
  /** The names of all nodes, in lower case. */
  hosts: readonly string[];
  /** Addresses for the reports of others; see `dmarc.receive_at`. */
  receiveAt: readonly string[];
  /** Those of them whose domain takes no mail here, so that nobody reads the reports. */
  unread: readonly string[];
  /** Whether STARTTLS has a certificate of the operator, which other servers can verify. */
  hasCertificate: boolean;
}

export type WantedRecord = Pick<DnsRecord, 'kind' | 'name' | 'type' | 'values'>;

export const wantedRecords = (facts: DnsFacts): WantedRecord[] => {
  const {domain, keys} = facts;
  const {name} = domain;
  return [
    ...(isReceived(domain) ? [mxRecord(facts)] : []),
    {kind: 'spf', name, type: 'TXT', values: [spfText(facts)]},
    ...keys.map(dkimRecord),
    {kind: 'dmarc', name: `_dmarc.${name}`, type: 'TXT', values: [dmarcText('none', facts.receiveAt)]},
    ...consentRecords(facts),
    ...tlsRecords(facts),
  ];
};

const dkimRecord = ({dns_name, dns_record}: DnsFacts['keys'][number]): WantedRecord => ({
  kind: 'dkim',
  name: dns_name,
  type: 'TXT',
  values: [dns_record],
});

export const isReceived = ({direction}: Pick<Domain, 'direction'>): boolean => direction !== 'outbound';

/** Each exchanger with the same preference, so that senders spread their mail. */
const mxRecord = ({domain, hosts}: DnsFacts): WantedRecord => ({
  kind: 'mx',
  name: domain.name,
  type: 'MX',
  values: hosts.map(host => `10 ${host}.`),
});

const spfText = ({domain, hosts}: DnsFacts): string =>
  isReceived(domain) ? 'v=spf1 mx -all' : `v=spf1 ${hosts.map(host => `a:${host}`).join(' ')} -all`;

const dmarcText = (policy: string, [first]: readonly string[]): string =>
  `v=DMARC1; p=${policy}${first === undefined ? '' : `; rua=mailto:${uriText(first)}`}`;

/** RFC 9989 section 4.7: commas, exclamation marks and semicolons are encoded. */
export const uriText = (address: string): string => {
  const at = address.lastIndexOf('@');
  return `${encodeURIComponent(address.slice(0, at)).replaceAll('!', '%21')}${address.slice(at)}`;
};

/** Another domain must agree to receive the reports about this one (RFC 9990 section 4). */
const consentRecords = ({domain: {name}, receiveAt: [first]}: DnsFacts): WantedRecord[] => {
  const receiver = first === undefined ? undefined : domainOf(first);
  if (receiver === undefined || isRelated(name, receiver)) return [];
  return [{kind: 'dmarc-consent', name: `${name}._report._dmarc.${receiver}`, type: 'TXT', values: ['v=DMARC1']}];
};

/** Whether one is the other or above it: then they have one owner. Of two that stand side by side only DNS knows. */
const isRelated = (one: string, other: string): boolean =>
  one === other || one.endsWith(`.${other}`) || other.endsWith(`.${one}`);

/** MTA-STS (RFC 8461) and reports of TLS (RFC 8460). */
const tlsRecords = (facts: DnsFacts): WantedRecord[] => {
  const policy = mtaStsPolicy(facts);
  if (policy === null) return [];
  const {name} = facts.domain;
  // Senders fetch the policy again when the id is another one.
  const id = createHash('sha256').update(policy).digest('hex').slice(0, 32);
  return [
    {kind: 'mta-sts', name: `_mta-sts.${name}`, type: 'TXT', values: [`v=STSv1; id=${id}`]},
    {kind: 'tls-rpt', name: `_smtp._tls.${name}`, type: 'TXT', values: [`v=TLSRPTv1; rua=mailto:postmaster@${name}`]},
  ];
};

/** The policy file of MTA-STS; null where senders could not verify the certificates of the nodes. */
export const mtaStsPolicy = ({domain, hosts, hasCertificate}: DnsFacts): string | null => {
  if (!hasCertificate || !isReceived(domain)) return null;
  return ['version: STSv1', 'mode: testing', ...hosts.map(host => `mx: ${host}`), 'max_age: 604800', ''].join('\n');
};

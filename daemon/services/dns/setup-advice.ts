// Advice on settings without which the DNS records of a domain cannot be complete.
import {canonicalDomain} from '../../../shared/domain-name.ts';
import {type DnsFacts, isReceived} from './wanted-records.ts';

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

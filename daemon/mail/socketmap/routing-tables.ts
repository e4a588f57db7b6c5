// Lookup tables about our domains for Postfix: accepted domains, their next hops and, on request, their recipients.

import type {Domain} from '../../../shared/domain.ts';
import {canonicalDomain} from '../../../shared/domain-name.ts';
import type {HostPort} from '../../../shared/host-port.ts';
import {hasInstruction, owningDomain, parseMailAddress} from '../../../shared/mail-address.ts';
import type {Route} from '../../services/intake/mail.ts';
import type {RecipientCheck} from '../backend/recipient-check.ts';
import type {TableAnswer} from './socketmap-server.ts';

interface Needs {
  domains: {findByName(name: string): Domain | undefined};
  /** The route of a domain; undefined when it has none. */
  routeTo(domain: Domain): Route | undefined;
  recipients: RecipientCheck;
  /** Whether this node reads DMARC reports that are sent to the address. */
  isForReports(recipient: string): boolean;
  /** The reason why no lookup may be answered: the domains of this node are no longer those of the cluster. */
  standstill(): string | undefined;
}

export const tableNames = ['relay_domains', 'transport_maps', 'relay_recipient_maps'] as const;

/**
 * Postfix looks up only whole domains and addresses in socketmaps, never the parent of a domain, so `example.com` does not make
 * Postfix accept `sub.example.com`.
 */
export const createRoutingTables = ({domains, routeTo, recipients, isForReports, standstill}: Needs) => {
  /** `key`: a domain or an address. An address has an owner even if it cannot be parsed. */
  const findInbound = (key: string): Domain | undefined => {
    const domain = domains.findByName((key.includes('@') ? owningDomain(key) : canonicalDomain(key)) ?? '');
    return domain?.direction === 'outbound' ? undefined : domain;
  };

  // Inactive domains stay accepted: `transportOf` makes their senders retry, while a refusal would be permanent.
  const relayDomain = (key: string): TableAnswer => {
    const domain = findInbound(key);
    return domain ? {kind: 'found', value: domain.name} : absent;
  };

  /** `absent`: Postfix uses its own settings, such as relayhost. */
  const transportOf = (key: string): TableAnswer => {
    const domain = findInbound(key);
    if (!domain) return absent;
    if (!domain.active) return inactive;
    const route = routeTo(domain);
    return route ? {kind: 'found', value: `relay:${route.servers.map(nextHop).join(', ')}`} : noServer;
  };

  const recipient = async (key: string): Promise<TableAnswer> => {
    // The key `@example.com`, for all addresses of a domain, is not an address.
    const address = parseMailAddress(key);
    const domain = address && findInbound(address.domain);
    // Postfix does not send the client, and the server might relay such an address because it trusts this node.
    if (!domain || hasInstruction(key)) return absent;
    const route = routeTo(domain);
    // For an inactive domain, `transportOf` gives the answer.
    if (!route || !domain.active || isForReports(key)) return {kind: 'found', value: domain.name};
    const {verdict, reason} = await recipients.ask(route, `${address.local}@${address.domain}`);
    if (verdict === 'unclear') return {kind: 'unavailable', reason};
    return verdict === 'known' ? {kind: 'found', value: domain.name} : absent;
  };

  const tables: Record<(typeof tableNames)[number], (key: string) => TableAnswer | Promise<TableAnswer>> = {
    relay_domains: relayDomain,
    transport_maps: transportOf,
    relay_recipient_maps: recipient,
  };
  return {
    lookUp(table: string, key: string): TableAnswer | Promise<TableAnswer> {
      const name = tableNames.find(known => known === table);
      if (name === undefined) return {kind: 'refused', reason: `no such table; there are ${tableNames.join(', ')}`};
      const reason = standstill();
      return reason === undefined ? tables[name](key) : {kind: 'unavailable', reason};
    },
  };
};

const absent: TableAnswer = {kind: 'absent'};
/** Postfix sends this text to the client after 450, and keeps mail that is already queued. */
const inactive: TableAnswer = {kind: 'found', value: 'retry:4.7.1 Mail of this domain is not taken at present'};
const noServer: TableAnswer = {kind: 'found', value: 'retry:4.4.4 No server for this domain'};

/** Brackets make Postfix use the server itself instead of its MX records. IPv6 addresses have the same brackets. */
const nextHop = ({host, port}: HostPort): string => `[${host}]:${port}`;

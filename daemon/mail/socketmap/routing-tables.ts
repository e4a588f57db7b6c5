// What Postfix is told about our domains: which it takes mail for, where that goes, and, on request, which recipients there are.

import type {Domain} from '../../../shared/domain.ts';
import {canonicalDomain} from '../../../shared/domain-name.ts';
import type {HostPort} from '../../../shared/host-port.ts';
import {hasInstruction, owningDomain, parseMailAddress} from '../../../shared/mail-address.ts';
import type {Route} from '../../services/intake/mail-ports.ts';
import type {RecipientCheck} from '../gateway/recipient-check.ts';
import type {TableAnswer} from './socketmap-server.ts';

interface Needs {
  domains: {findByName(name: string): Domain | undefined};
  /** Where mail to a domain goes; undefined when it has nowhere to go. */
  routeTo(domain: Domain): Route | undefined;
  recipients: RecipientCheck;
  /** Why nothing may be said at all: the domains known here are not those of the cluster any more. */
  standstill(): string | undefined;
}

export const tableNames = ['relay_domains', 'transport_maps', 'relay_recipient_maps'] as const;

/**
 * Postfix asks socketmaps for whole domains and addresses only, never for the parent of a domain, so that `sub.example.com` is not
 * taken because `example.com` is.
 */
export const createRoutingTables = ({domains, routeTo, recipients, standstill}: Needs) => {
  /** `key`: a domain, or an address, which has an owner whether or not it can be parsed. */
  const findInbound = (key: string): Domain | undefined => {
    const domain = domains.findByName((key.includes('@') ? owningDomain(key) : canonicalDomain(key)) ?? '');
    return domain?.direction === 'outbound' ? undefined : domain;
  };

  // One that is inactive stays ours: who sends to it is told to wait by `transportOf`, not that this is the wrong place.
  const relayDomain = (key: string): TableAnswer => {
    const domain = findInbound(key);
    return domain ? {kind: 'found', value: domain.name} : absent;
  };

  /** Absent: Postfix goes by its own settings, such as relayhost. */
  const transportOf = (key: string): TableAnswer => {
    const domain = findInbound(key);
    if (!domain) return absent;
    if (!domain.active) return inactive;
    const route = routeTo(domain);
    return route ? {kind: 'found', value: `relay:${route.servers.map(nextHop).join(', ')}`} : noServer;
  };

  const recipient = async (key: string): Promise<TableAnswer> => {
    // `@example.com`, the key for everybody in a domain, is no address.
    const address = parseMailAddress(key);
    const domain = address && findInbound(address.domain);
    // Postfix does not say who sends, and the server would route such an address for this node.
    if (!domain || hasInstruction(key)) return absent;
    const route = routeTo(domain);
    // Who sends to an inactive domain hears of that from `transportOf`.
    if (!route || !domain.active) return {kind: 'found', value: domain.name};
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
/** Postfix says that text after 450 to who sends, and keeps what is queued already. */
const inactive: TableAnswer = {kind: 'found', value: 'retry:4.7.1 Mail of this domain is not taken at present'};
const noServer: TableAnswer = {kind: 'found', value: 'retry:4.4.4 No server for this domain'};

/** Brackets: the server itself, not what its MX records name. The same around IPv6 addresses. */
const nextHop = ({host, port}: HostPort): string => `[${host}]:${port}`;

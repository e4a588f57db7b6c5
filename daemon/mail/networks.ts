import {BlockList, isIP} from 'node:net';
import {Fault} from '../../shared/fault.ts';

export interface NetworkSet {
  readonly isEmpty: boolean;
  /** False for a text that is not an address. An IPv4 address in IPv6 notation (`::ffff:127.0.0.1`) counts as IPv4. */
  contains(ip: string): boolean;
}

/** A set of addresses and networks in CIDR notation. Throws a Fault `validation_failed` that quotes the invalid entry. */
export const createNetworkSet = (entries: readonly string[]): NetworkSet => {
  const list = new BlockList();
  for (const entry of entries) {
    const network = parseNetwork(entry);
    if (!network)
      throw new Fault('validation_failed', `"${entry}" is not a network; write an address such as 192.0.2.1 or 2001:db8::/32`);
    list.addSubnet(network.address, network.prefix, network.family);
  }

  return {
    isEmpty: entries.length === 0,
    contains(ip) {
      const address = withoutZone(ip);
      const family = isIP(address);
      return family !== 0 && list.check(address, family === 6 ? 'ipv6' : 'ipv4');
    },
  };
};

interface Network {
  address: string;
  prefix: number;
  family: 'ipv4' | 'ipv6';
}

const parseNetwork = (entry: string): Network | undefined => {
  const match = /^([0-9a-f:.]{1,45})(?:\/(\d{1,3}))?$/i.exec(entry.trim());
  const address = match?.[1] ?? '';
  const family = isIP(address);
  if (family === 0) return undefined;

  const bits = family === 6 ? 128 : 32;
  const prefix = match?.[2] === undefined ? bits : Number(match[2]);
  return prefix <= bits ? {address, prefix, family: family === 6 ? 'ipv6' : 'ipv4'} : undefined;
};

/** Link-local addresses have a zone: `fe80::1%eth0` (RFC 4007 section 11). */
const withoutZone = (ip: string): string => ip.split('%', 1)[0] ?? '';

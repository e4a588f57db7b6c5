// Addresses that anybody on the Internet may have, apart from those inside a machine, a site or a provider (RFC 6890).
import {BlockList, isIPv4} from 'node:net';
import {canonicalHost} from './host-port.ts';

const inside = new BlockList();
for (const [network, bits] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  // Multicast, reserved, broadcast.
  ['224.0.0.0', 3],
] as const)
  inside.addSubnet(network, bits, 'ipv4');

/** Global unicast, without addresses that contain an IPv4 address (tunnels: Teredo, 6to4), and without those for protocols. */
const outside = new BlockList();
outside.addSubnet('2000::', 3, 'ipv6');
for (const [network, bits] of [
  ['2001::', 23],
  ['2002::', 16],
] as const)
  inside.addSubnet(network, bits, 'ipv6');

/** False for anything but an IP address. IPv4 addresses in IPv6 ones (`::ffff:127.0.0.1`) are judged as IPv4. */
export const isPublicAddress = (address: string): boolean => {
  const plain = canonicalHost(address);
  if (isIPv4(plain)) return !inside.check(plain, 'ipv4');
  return plain.includes(':') && outside.check(plain, 'ipv6') && !inside.check(plain, 'ipv6');
};

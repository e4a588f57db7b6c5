import {isIPv4, isIPv6, SocketAddress} from 'node:net';

export interface HostPort {
  /** A host name, an IPv4 address, or an IPv6 address without brackets. */
  host: string;
  port: number;
}

const hostName = /^(?=.{1,253}$)[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9])?(\.[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9])?)*$/i;

/** Parses `host:port`, IPv6 in brackets; undefined for anything else. Port 0 passes only with `{allowZero: true}`. */
export const parseHostPort = (text: string, {allowZero = false} = {}): HostPort | undefined => {
  const match = /^(?:\[([0-9a-f:.]+)\]|([^[\]:]+)):(\d{1,5})$/i.exec(text);
  if (!match) return undefined;

  const [, v6, name, digits] = match;
  const host = v6 ?? name ?? '';
  const port = Number(digits);
  if (port > 65_535 || (port === 0 && !allowZero)) return undefined;
  if (v6 === undefined ? !isHost(host) : !isIPv6(host)) return undefined;
  return {host, port};
};

export const formatHostPort = ({host, port}: HostPort): string => (isIPv6(host) ? `[${host}]:${port}` : `${host}:${port}`);

/** Digits and dots alone must be an address: `1.2.3` and `999.1.1.1` are typing errors, not names. */
const isHost = (host: string): boolean => (/^[\d.]+$/.test(host) ? isIPv4(host) : hostName.test(host));

/** Listens on every address of the machine. */
export const isWildcard = (host: string): boolean => host === '0.0.0.0' || host === '::';

/** Turns `::ffff:192.0.2.1`, as dual-stack sockets write it, into an IPv4 address. */
export const plainAddress = (address: string): string => address.replace(/^::ffff:(?=[\d.]+$)/i, '');

/** Canonical spelling: names in lower case, IPv6 addresses as in RFC 5952, IPv4 addresses never as IPv6 ones. */
export const canonicalHost = (host: string): string =>
  isIPv6(host) ? plainAddress(new SocketAddress({address: host, family: 'ipv6'}).address) : host.toLowerCase();

/** Whether a host is the machine itself, whatever machine that is. */
export const isLoopback = (host: string): boolean => {
  const canonical = canonicalHost(host);
  return canonical === 'localhost' || canonical === '::1' || (isIPv4(canonical) && canonical.startsWith('127.'));
};

/**
 * The addresses of one client: an IPv4 address, or the first 64 bits of an IPv6 address (`2001:db8:0:1::/64`), as
 * every site gets a /64 at least (RFC 6177 section 2).
 */
export const clientNetwork = (address: string): string => {
  const plain = canonicalHost(address.split('%', 1)[0] ?? '');
  if (!isIPv6(plain)) return plain;
  const [before, after] = plain.split('::').map(part => part.split(':').filter(Boolean));
  const missing = 8 - (before?.length ?? 0) - (after?.length ?? 0);
  const groups = [...(before ?? []), ...Array<string>(missing).fill('0'), ...(after ?? [])];
  return `${groups.slice(0, 4).join(':')}::/64`;
};

import {canonicalHost, formatHostPort, type HostPort, isWildcard, parseHostPort} from '../shared/host-port.ts';

export const listenOf = (text: string): HostPort => parseHostPort(text, {allowZero: true}) ?? {host: '127.0.0.1', port: 0};

/** Where a listener can be reached from elsewhere, as far as this node can tell. */
export const advertised = (listen: string, fqdn: string, {port}: Pick<HostPort, 'port'>): string => {
  const {host} = listenOf(listen);
  return formatHostPort({host: isWildcard(host) ? fqdn : canonicalHost(host), port});
};

import {canonicalHost, formatHostPort, type HostPort, isWildcard, parseHostPort} from '../../shared/host-port.ts';
import type {Config} from '../config/schema.ts';

export const listenOf = (text: string): HostPort => parseHostPort(text, {allowZero: true}) ?? {host: '127.0.0.1', port: 0};

/** The address of a listener for other hosts, as far as this node knows it. Behind NAT it does not: see `advertise`. */
const advertised = (listen: string, fqdn: string, {port}: Pick<HostPort, 'port'>): string => {
  const {host} = listenOf(listen);
  return formatHostPort({host: isWildcard(host) ? fqdn : canonicalHost(host), port});
};

export const apiUrl = ({api}: Config, fqdn: string, address: HostPort): string =>
  `https://${api.advertise ?? advertised(api.listen, fqdn, address)}`;

export const clusterUrl = ({cluster}: Config, fqdn: string, address: HostPort): string =>
  `https://${cluster.advertise ?? advertised(cluster.listen, fqdn, address)}`;

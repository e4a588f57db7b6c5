// Addresses of the other nodes of a cluster. They are claims of the answering node, and mfctl will send the key there. So they are used
// only under a CA that signs for nodes of the cluster alone.
import {X509Certificate} from 'node:crypto';
import type {ClusterStatus} from '../../shared/cluster-status.ts';
import {isLoopback, parseHostPort} from '../../shared/host-port.ts';
import {type Connection, checkedUrl} from '../client/connection.ts';
import {isPublicRoot} from '../client/trust.ts';

/**
 * Whether a CA file (PEM) holds private root certificates only. A public CA would also sign for the server of an attacker: that excludes the roots
 * that Node ships, and intermediates.
 */
export const isOwnAuthority = (pem: string): boolean => {
  const certificates = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  return certificates.length > 0 && certificates.every(isOwnRoot);
};

const isOwnRoot = (pem: string): boolean => {
  try {
    const certificate = new X509Certificate(pem);
    return certificate.ca && certificate.verify(certificate.publicKey) && !isPublicRoot(certificate);
  } catch {
    return false;
  }
};

/** More than a cluster has. Each unreachable one costs time. */
const maxOthers = 31;

/** Canonical and unique, without `url`. Anything but a plain HTTPS origin is left out. */
export const otherAddresses = ({peers, local_node_id}: Pick<ClusterStatus, 'peers' | 'local_node_id'>, url: string): string[] => {
  const isLocal = isLoopback(hostOf(new URL(url)));
  const found = peers
    .filter(({node_id}) => node_id !== local_node_id)
    .flatMap(({api_url}) => plainAddress(api_url) ?? [])
    // A loopback address means another machine here than on that node.
    .filter(address => isLocal || !isLoopback(hostOf(new URL(address))));
  return [...new Set(found)].filter(address => address !== url).slice(0, maxOthers);
};

/**
 * The other addresses of the context of a connection, with those that a status adds; undefined when it adds none. Under a CA that is not
 * the cluster's own, or without a CA file, the addresses of a context are those that a person has given.
 */
export const learnedAddresses = (
  {ca, context}: Pick<Connection, 'ca' | 'context'>,
  status: Pick<ClusterStatus, 'peers' | 'local_node_id'>,
): string[] | undefined => {
  if (context?.cacert === undefined || ca === undefined || !isOwnAuthority(ca)) return undefined;
  const {url, others = []} = context;
  const all = [...new Set([...others, ...otherAddresses(status, url)])].slice(0, Math.max(maxOthers, others.length));
  return all.length > others.length ? all : undefined;
};

const plainAddress = (claimed: string): string | undefined => {
  try {
    const url = new URL(checkedUrl(claimed));
    return url.pathname === '/' && parseHostPort(`${url.hostname}:${url.port || 443}`) ? url.origin : undefined;
  } catch {
    return undefined;
  }
};

/** IPv6 without brackets. */
const hostOf = ({hostname}: URL): string => hostname.replace(/^\[|\]$/g, '');

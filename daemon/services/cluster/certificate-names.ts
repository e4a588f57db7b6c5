// Ownership of host names by nodes. A node with a certificate for the name of another node could impersonate it to clients.

import {canonicalHost, isLoopback, parseHostPort} from '../../../shared/host-port.ts';
import type {StoredNode} from '../records.ts';

/** A node and the names and addresses that it owns. */
export interface NameHolder<N extends {node_id: string}> {
  node: N;
  /** Canonical, see `canonicalHost`. */
  names: readonly string[];
}

export interface CertificateSubject<N> {
  node_id: string;
  /** The names in its current certificate. It keeps them, even if other nodes request them. */
  currentNames: readonly string[];
  /** Whether it runs on the same machine as `node`: such nodes share a name and addresses. */
  isColocated(node: N): boolean;
}

/** The other node that owns `host`; undefined if the subject may use it. */
export const ownerOf = <N extends {node_id: string}>(
  host: string,
  holders: readonly NameHolder<N>[],
  {node_id, currentNames, isColocated}: CertificateSubject<N>,
): N | undefined => {
  const name = canonicalHost(host);
  if (isLoopback(name) || currentNames.some(one => canonicalHost(one) === name)) return undefined;
  return holders.find(({node, names}) => node.node_id !== node_id && names.includes(name) && !isColocated(node))?.node;
};

/** Those of `hosts` that a certificate of the subject may contain. */
export const ownNames = <N extends {node_id: string}>(
  hosts: readonly string[],
  holders: readonly NameHolder<N>[],
  subject: CertificateSubject<N>,
): string[] => hosts.filter(host => !ownerOf(host, holders, subject));

/** The names and URLs that a node has announced. */
export type NamedNode = Pick<StoredNode, 'node_id' | 'fqdn' | 'cluster_url' | 'api_url'>;

/** The nodes with their names according to their records. */
export const describedNames = <N extends NamedNode>(nodes: readonly N[]): NameHolder<N>[] =>
  nodes.map(node => ({node, names: namesOf(node)}));

/** The host names and addresses of a node, canonical. */
export const namesOf = ({fqdn, cluster_url, api_url}: Pick<NamedNode, 'fqdn' | 'cluster_url' | 'api_url'>): string[] =>
  [...new Set([fqdn, hostOf(cluster_url), hostOf(api_url)].map(canonicalHost))].filter(name => name !== '');

const hostOf = (url: string | null): string => parseHostPort((url ?? '').replace(/^https:\/\//, ''))?.host ?? '';

// Which node a host name belongs to. A node with a certificate for the name of another could pass for it in front of clients.

import {canonicalHost, isLoopback, parseHostPort} from '../../../shared/host-port.ts';
import type {StoredNode} from '../records.ts';

/** A node with the names and addresses that are its own. */
export interface NameHolder<N extends {node_id: string}> {
  node: N;
  /** Canonical, see `canonicalHost`. */
  names: readonly string[];
}

export interface CertificateSubject<N> {
  node_id: string;
  /** Names that it has shown a certificate for: what it was given it keeps, whoever else comes to claim it. */
  given: readonly string[];
  /** Whether it is on the machine of that node: those have one name, and addresses, in common. */
  isBeside(node: N): boolean;
}

/** The other node that has `host`, if that is not the claimant's too. */
export const ownerOf = <N extends {node_id: string}>(
  host: string,
  holders: readonly NameHolder<N>[],
  {node_id, given, isBeside}: CertificateSubject<N>,
): N | undefined => {
  const name = canonicalHost(host);
  if (isLoopback(name) || given.some(one => canonicalHost(one) === name)) return undefined;
  return holders.find(({node, names}) => node.node_id !== node_id && names.includes(name) && !isBeside(node))?.node;
};

/** Those of `hosts` that may stand in a certificate of the claimant. */
export const ownNames = <N extends {node_id: string}>(
  hosts: readonly string[],
  holders: readonly NameHolder<N>[],
  claimant: CertificateSubject<N>,
): string[] => hosts.filter(host => !ownerOf(host, holders, claimant));

/** A node as it says that it is called and can be reached. */
export type NamedNode = Pick<StoredNode, 'node_id' | 'fqdn' | 'cluster_url' | 'api_url'>;

/** The nodes with the names that they go by, as their records say. */
export const describedNames = <N extends NamedNode>(nodes: readonly N[]): NameHolder<N>[] =>
  nodes.map(node => ({node, names: namesOf(node)}));

/** The hosts that a node goes by, canonical. */
export const namesOf = ({fqdn, cluster_url, api_url}: Pick<NamedNode, 'fqdn' | 'cluster_url' | 'api_url'>): string[] =>
  [...new Set([fqdn, hostOf(cluster_url), hostOf(api_url)].map(canonicalHost))].filter(name => name !== '');

const hostOf = (url: string | null): string => parseHostPort((url ?? '').replace(/^https:\/\//, ''))?.host ?? '';

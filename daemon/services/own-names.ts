// Whose a name is. Who could have a certificate for the name of another node could pass for it in front of clients.
import {canonicalHost, isLoopback, parseHostPort} from '../../shared/host-port.ts';
import type {StoredNode} from '../store/node.ts';

/** A node as it says that it is called and can be reached. */
export type NamedNode = Pick<StoredNode, 'node_id' | 'fqdn' | 'cluster_url' | 'api_url'>;

export interface Claimant<N extends NamedNode> {
  node_id: string;
  /** Names that it has shown a certificate for: what it was given it keeps, whoever else comes to claim it. */
  given: readonly string[];
  /** Whether it is on the machine of that node: those have one name, and addresses, in common. */
  isBeside(node: N): boolean;
}

/** The other node that goes by `host`, if that is not the claimant's too. */
export const ownerOf = <N extends NamedNode>(
  host: string,
  nodes: readonly N[],
  {node_id, given, isBeside}: Claimant<N>,
): N | undefined => {
  const name = canonicalHost(host);
  if (isLoopback(name) || given.some(one => canonicalHost(one) === name)) return undefined;
  return nodes.find(node => node.node_id !== node_id && namesOf(node).includes(name) && !isBeside(node));
};

/** Those of `hosts` that may stand in a certificate of the claimant. */
export const ownNames = <N extends NamedNode>(hosts: readonly string[], nodes: readonly N[], claimant: Claimant<N>): string[] =>
  hosts.filter(host => !ownerOf(host, nodes, claimant));

const namesOf = ({fqdn, cluster_url, api_url}: NamedNode): string[] =>
  [fqdn, hostOf(cluster_url), hostOf(api_url)].map(canonicalHost);

const hostOf = (url: string | null): string => parseHostPort((url ?? '').replace(/^https:\/\//, ''))?.host ?? '';

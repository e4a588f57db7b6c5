import type {StoredNode} from '../store/node.ts';

const loopback = ['localhost', '127.0.0.1', '::1'];

/**
 * The `hosts` that may stand in the certificate of `node`: without the names of other nodes, for which it could pass in front
 * of clients. Nodes on one machine share its name.
 */
export const ownNames = (
  nodes: readonly Pick<StoredNode, 'node_id' | 'fqdn'>[],
  node: Pick<StoredNode, 'node_id' | 'fqdn'>,
  hosts: readonly string[],
): string[] => {
  const others = nodes.filter(other => other.node_id !== node.node_id && !isSame(other.fqdn, node.fqdn));
  return hosts.filter(host => loopback.includes(host) || !others.some(({fqdn}) => isSame(fqdn, host)));
};

const isSame = (a: string, b: string): boolean => a.toLowerCase() === b.toLowerCase();

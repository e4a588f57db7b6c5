// Directory of all nodes in memory, because every request between nodes checks membership.

import type {Store} from '../../services/ports.ts';
import type {ConfigStore} from '../ports.ts';
import type {StoredNode} from '../records.ts';

export interface NodeDirectory {
  /** All nodes, including this one, in the order in which they joined. */
  list(): readonly StoredNode[];
  findByNo(nodeNo: number): StoredNode | undefined;
  findById(nodeId: string): StoredNode | undefined;
  /** Whether the node with this number was removed from the cluster. */
  wasRemoved(nodeNo: number): boolean;
  /** Calls `listener` when a node has joined, changed or left. */
  onChange(listener: () => void): void;
}

export const createNodeDirectory = async (store: Store, configuration: ConfigStore): Promise<NodeDirectory> => {
  let nodes = await store.config.listNodes();
  let removed = new Set(await store.config.removedNodeNos());
  const listeners: (() => void)[] = [];

  configuration.onChange(async changed => {
    if (!changed.some(({kind}) => kind === 'node')) return;
    nodes = await store.config.listNodes();
    removed = new Set(await store.config.removedNodeNos());
    for (const listener of listeners) listener();
  });

  return {
    list: () => nodes,
    findByNo: nodeNo => nodes.find(({id}) => id === nodeNo),
    findById: nodeId => nodes.find(({node_id}) => node_id === nodeId),
    wasRemoved: nodeNo => removed.has(nodeNo),
    onChange: listener => void listeners.push(listener),
  };
};

// All nodes of the cluster in memory: every request between nodes asks who is one.

import type {Store} from '../../services/ports.ts';
import type {ConfigStore} from '../ports.ts';
import type {StoredNode} from '../records.ts';

export interface NodeDirectory {
  /** All, this node included, in the order in which they joined. */
  list(): readonly StoredNode[];
  findByNo(nodeNo: number): StoredNode | undefined;
  findById(nodeId: string): StoredNode | undefined;
  /** Whether a node of that number has been one, and is none any more. */
  wasRemoved(nodeNo: number): boolean;
  /** Called when a node has joined, changed or gone. */
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

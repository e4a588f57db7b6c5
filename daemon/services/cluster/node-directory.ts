// All nodes of the cluster in memory: every request between nodes asks who is one.

import type {Configuration} from '../../replication/configuration.ts';
import {removedNodeNos} from '../../store/sqlite/config-record.ts';
import type {Database} from '../../store/sqlite/database.ts';
import {listNodes, type StoredNode} from '../../store/sqlite/node.ts';

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

export const createNodeDirectory = async (database: Database, configuration: Configuration): Promise<NodeDirectory> => {
  let nodes = await listNodes(database.read);
  let removed = new Set(await removedNodeNos(database.read));
  const listeners: (() => void)[] = [];

  configuration.onChange(async changed => {
    if (!changed.some(({kind}) => kind === 'node')) return;
    nodes = await listNodes(database.read);
    removed = new Set(await removedNodeNos(database.read));
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

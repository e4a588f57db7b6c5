// All nodes of the cluster in memory: every request between nodes asks who is one.
import type {Database} from '../store/database.ts';
import {listNodes, type StoredNode} from '../store/node.ts';
import type {Configuration} from './configuration.ts';

export interface NodeDirectory {
  /** All, this node included, in the order in which they joined. */
  list(): readonly StoredNode[];
  findByNo(nodeNo: number): StoredNode | undefined;
  findById(nodeId: string): StoredNode | undefined;
  /** Called when a node has joined, changed or gone. */
  onChange(listener: () => void): void;
}

export const createNodeDirectory = async (database: Database, configuration: Configuration): Promise<NodeDirectory> => {
  let nodes = await listNodes(database.read);
  const listeners: (() => void)[] = [];

  configuration.onChange(async touched => {
    if (!touched.some(({kind}) => kind === 'node')) return;
    nodes = await listNodes(database.read);
    for (const listener of listeners) listener();
  });

  return {
    list: () => nodes,
    findByNo: nodeNo => nodes.find(({id}) => id === nodeNo),
    findById: nodeId => nodes.find(({node_id}) => node_id === nodeId),
    onChange: listener => void listeners.push(listener),
  };
};

import {CommandError} from './command-error.ts';
import type {Database} from './store/database.ts';
import {readState} from './store/local-state.ts';

export interface Identity {
  nodeId: string;
  /** First part of every id made here. */
  nodeNo: number;
}

/** Who this node is; a database that does not say is none of a node. */
export const readIdentity = async ({read}: Database, filename: string): Promise<Identity> => {
  const nodeId = await readState(read, 'node_id');
  const nodeNo = Number(await readState(read, 'node_no'));
  if (!nodeId || !Number.isSafeInteger(nodeNo) || nodeNo < 1)
    throw new CommandError(`${filename} is not the database of a node; restore it from a backup`);
  return {nodeId, nodeNo};
};

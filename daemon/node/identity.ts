import type {NodeIdentity} from '../services/ports.ts';
import type {Database, Db} from '../store/sqlite/database.ts';
import {readState, writeState} from '../store/sqlite/local-state.ts';
import {CommandError} from './command-error.ts';

/** Who this node is; a database that does not say is none of a node. */
export const readIdentity = async ({read}: Database, filename: string): Promise<NodeIdentity> => {
  const nodeId = await readState(read, 'node_id');
  const nodeNo = Number(await readState(read, 'node_no'));
  if (!nodeId || !Number.isSafeInteger(nodeNo) || nodeNo < 1)
    throw new CommandError(`${filename} is not the database of a node; restore it from a backup`);
  return {nodeId, nodeNo};
};

/** For a database that is new. */
export const writeIdentity = async (tx: Db, {nodeId, nodeNo}: NodeIdentity): Promise<void> => {
  await writeState(tx, 'node_id', nodeId);
  await writeState(tx, 'node_no', String(nodeNo));
};

import type {NodeIdentity} from '../services/access/actor.ts';
import type {Store, StoreTransaction} from '../services/ports.ts';
import {CommandError} from './command-error.ts';

/** The identity of this node; a database without one does not belong to a node. */
export const readIdentity = async ({state}: Pick<Store, 'state'>, filename: string): Promise<NodeIdentity> => {
  const nodeId = await state.read('node_id');
  const nodeNo = Number(await state.read('node_no'));
  if (!nodeId || !Number.isSafeInteger(nodeNo) || nodeNo < 1)
    throw new CommandError(`${filename} is not the database of a node; restore it from a backup`);
  return {nodeId, nodeNo};
};

/** For a database that is new. */
export const writeIdentity = async ({state}: StoreTransaction, {nodeId, nodeNo}: NodeIdentity): Promise<void> => {
  await state.write('node_id', nodeId);
  await state.write('node_no', String(nodeNo));
};

// The one way configuration changes, whether the change comes from this node's API, a peer, a snapshot or a repair.
import type {ConfigRecord, RecordKey, StoredRecord} from '../store/sqlite/config-record.ts';
import type {Db} from '../store/sqlite/database.ts';
import {readState, writeState} from '../store/sqlite/local-state.ts';
import {openSession} from './config-session.ts';
import {hexNumber} from './merge-changes.ts';
import type {ChangedRecord} from './working-set.ts';

/** Part of a record's state: the fields that were written, or the deletion. Applying it twice changes nothing. */
export type Change = ConfigRecord;

/** A record that looks different after a change, and the one it belongs to. */
export type Touched = RecordKey & Pick<StoredRecord, 'parent_id'>;

/**
 * Merges `changes` and brings the readable tables, the record digests and the configuration hash in step, all inside the
 * caller's transaction. Returns the records that have changed, with those that changed for it: the rivals for a name, the
 * children of a domain.
 */
export const apply = async (tx: Db, changes: Change[], nowMs: number): Promise<Touched[]> => {
  const session = openSession(tx);
  const changed = await session.put(changes, nowMs);
  await session.flush();
  return changed.flatMap(touchedBy);
};

/** Order-free: the sum, modulo 2^256, of the digests of all live records. Equal exactly when the live records are. */
export const readConfigHash = async (db: Db): Promise<{config_hash: string; changed_at_ms: number}> => ({
  config_hash: `sha256:${((await readState(db, 'config_sum')) ?? '').padStart(64, '0')}`,
  changed_at_ms: Number((await readState(db, 'config_changed_at')) ?? 0),
});

export const readSum = async (db: Db): Promise<bigint> => hexNumber((await readState(db, 'config_sum')) ?? '');

export const writeHash = async (tx: Db, sum: bigint, nowMs: number): Promise<void> => {
  await writeState(tx, 'config_sum', BigInt.asUintN(256, sum).toString(16));
  await writeState(tx, 'config_changed_at', String(nowMs));
};

/** One that has moved is told of where it was as well. */
export const touchedBy = ({before, after: {kind, id, parent_id}}: ChangedRecord): Touched[] => {
  const hasMoved = before && before.parent_id !== null && before.parent_id !== parent_id;
  return [{kind, id, parent_id}, ...(hasMoved ? [{kind, id, parent_id: before.parent_id}] : [])];
};

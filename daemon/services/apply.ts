// The one way configuration changes, whether the change comes from this node's API, a peer, a snapshot or a repair.
import {
  type ConfigRecord,
  childrenOf,
  findRecords,
  type RecordKey,
  recordsAfter,
  recordsWithUniqueKeys,
  type StoredRecord,
  saveRecords,
} from '../store/config-record.ts';
import type {Db} from '../store/database.ts';
import {readState, writeState} from '../store/local-state.ts';
import {hexNumber, mergeChanges, type Settled, settleAll} from './merge-changes.ts';
import {project, unproject} from './projection.ts';
import {childKinds, loadWorkingSet, type RecordSource} from './working-set.ts';

/** Part of a record's state: the fields that were written, or the deletion. Applying it twice changes nothing. */
export type Change = ConfigRecord;

/** A record that may look different after a change, and the one it belongs to. */
export type Touched = RecordKey & Pick<StoredRecord, 'parent_id'>;

/**
 * Merges `changes` and brings the readable tables, the record digests and the configuration hash in step, all inside the
 * caller's transaction. Returns the records that may look different now, with those that follow from them: the rivals
 * for a name, the children of a domain.
 */
export const apply = async (tx: Db, changes: Change[], nowMs: number): Promise<Touched[]> => {
  const set = await loadWorkingSet(sourceIn(tx), changes);
  const {settled, difference} = mergeChanges(set, changes);
  await saveRecords(tx, set.changed());

  // Names are freed before they are taken, or the tables' own unique keys would object.
  for (const {record, isLive} of settled) if (!isLive) await unproject(tx, record);
  for (const {record, isLive} of settled) if (isLive) await project(tx, record);
  if (difference !== 0n) await moveHash(tx, difference, nowMs);
  return settled.map(touchedOf);
};

/** Works out digests, hash and readable tables anew from the records, for a node that does not trust its own count. */
export const recount = async (tx: Db, nowMs: number): Promise<Touched[]> => {
  const records: StoredRecord[] = [];
  for (
    let page = await recordsAfter(tx, undefined, pageSize);
    page.length > 0;
    page = await recordsAfter(tx, page.at(-1), pageSize)
  )
    records.push(...page);
  const set = await loadWorkingSet(sourceIn(tx), records);
  const settled = settleAll(set, records);
  await saveRecords(tx, set.changed());
  for (const {record, isLive} of settled) if (!isLive) await unproject(tx, record);
  for (const {record, isLive} of settled) if (isLive) await project(tx, record);

  const sum = BigInt.asUintN(
    256,
    settled.reduce((total, {record}) => total + hexNumber(record.digest), 0n),
  );
  const before = hexNumber((await readState(tx, 'config_sum')) ?? '');
  if (sum !== before) await moveHash(tx, sum - before, nowMs);
  return settled.map(touchedOf);
};

/** Order-free: the sum, modulo 2^256, of the digests of all live records. Equal exactly when the live records are. */
export const readConfigHash = async (db: Db): Promise<{config_hash: string; changed_at_ms: number}> => ({
  config_hash: `sha256:${((await readState(db, 'config_sum')) ?? '').padStart(64, '0')}`,
  changed_at_ms: Number((await readState(db, 'config_changed_at')) ?? 0),
});

const pageSize = 1000;

const touchedOf = ({record: {kind, id, parent_id}}: Settled): Touched => ({kind, id, parent_id});

const sourceIn = (tx: Db): RecordSource => ({
  find: async keys => findRecords(tx, keys),
  withUniqueKeys: async (kind, uniqueKeys) => recordsWithUniqueKeys(tx, kind, uniqueKeys),
  childrenOf: async parentIds => childrenOf(tx, childKinds, parentIds),
});

const moveHash = async (tx: Db, difference: bigint, nowMs: number): Promise<void> => {
  const sum = BigInt.asUintN(256, hexNumber((await readState(tx, 'config_sum')) ?? '') + difference);
  await writeState(tx, 'config_sum', sum.toString(16));
  await writeState(tx, 'config_changed_at', String(nowMs));
};

// Application of configuration changes: the only function that changes configuration, for the API of this node, peers, snapshots,
// repairs and stamp corrections.

import type {ChangedRecord} from '../services/cluster/replication-ports.ts';
import type {NodeTransaction, RecordStore} from '../services/node-store.ts';
import {type ConfigRecord, recordName, recordsByName, type StoredRecord} from '../services/records.ts';
import {hexNumber, readSum, writeSum} from './config-hash.ts';
import {childKinds, mergeStates, parentIdOf, uniqueKeyOf} from './config-merge.ts';
import {parentOf, settle} from './liveness.ts';
import {project} from './projection.ts';

/** Part of a record's state: the fields that were written, or the deletion. Applying it twice changes nothing. */
export type Change = ConfigRecord;

type ApplyTransaction = Pick<NodeTransaction, 'records'>;

/**
 * Merges `changes` and updates the readable tables, the record digests and the configuration hash, all inside the caller's
 * transaction. Commutative, associative and idempotent. Returns the changed records, including those that changed as a
 * consequence: records with the same name, and the children of a domain. Only stamp correction passes `combine`: it replaces the
 * stored record instead of merging.
 */
export const apply = async (
  tx: ApplyTransaction,
  changes: Change[],
  nowMs: number,
  combine: typeof mergeStates = mergeStates,
): Promise<ChangedRecord[]> => {
  const before = recordsByName(await tx.records.findAll(changes));
  const records = combineAll(before, changes, combine);
  if (records.size === 0) return [];
  const load = (some: StoredRecord[]): void => {
    for (const record of some) {
      const name = recordName(record);
      if (records.has(name)) continue;
      before.set(name, record);
      records.set(name, record);
    }
  };
  const versions = differences(before, records).flatMap(({before: former, after}) => (former ? [former, after] : [after]));
  const parents = await tx.records.findAll(versions.flatMap(record => parentOf(record) ?? []));
  const settleAll = (some: StoredRecord[]): void => {
    const known = new Map([...recordsByName(parents), ...records]);
    for (const record of settle(some, known)) records.set(recordName(record), record);
  };

  // All other records that ever had one of these names: one of them may win or lose the name.
  load(await tx.records.withUniqueKeys(versions));
  settleAll([...records.values()].filter(({kind}) => !childKinds.includes(kind)));
  const moved = differences(before, records).filter(concernsChildren);
  const children = await tx.records.childrenOf(
    childKinds,
    moved.map(({after}) => after.id),
  );
  load([...children, ...(await tx.records.withUniqueKeys(children))]);
  settleAll([...records.values()].filter(({kind}) => childKinds.includes(kind)));

  const changed = differences(before, records);
  await tx.records.save(changed.map(({after}) => after));
  await project(tx.records, changed);
  await moveSum(tx.records, changed, nowMs);
  return changed;
};

const nothing = {fields: {}, deleted: null};

/** The records that differ from `before`, by name. */
const combineAll = (
  before: ReadonlyMap<string, StoredRecord>,
  changes: Change[],
  combine: typeof mergeStates,
): Map<string, StoredRecord> => {
  const records = new Map<string, StoredRecord>();
  for (const change of changes) {
    const name = recordName(change);
    const known = records.get(name) ?? before.get(name);
    const next = combined(known, change, combine);
    if (next !== known) records.set(name, next);
  }
  return records;
};

const combined = (known: StoredRecord | undefined, change: Change, combine: typeof mergeStates): StoredRecord => {
  const {kind, id} = change;
  const state = combine(kind, known ?? nothing, change);
  if (known && known.deleted === state.deleted && JSON.stringify(known.fields) === JSON.stringify(state.fields)) return known;
  return {
    kind,
    id,
    fields: state.fields,
    deleted: state.deleted,
    unique_key: uniqueKeyOf(kind, state),
    parent_id: parentIdOf(kind, state),
    digest: known?.digest ?? '',
  };
};

const differences = (before: ReadonlyMap<string, StoredRecord>, records: ReadonlyMap<string, StoredRecord>): ChangedRecord[] =>
  [...records].flatMap(([name, after]) => (before.get(name) === after ? [] : [{before: before.get(name), after}]));

/** Whether the change affects the children of the record. */
const concernsChildren = ({before, after}: ChangedRecord): boolean =>
  after.kind === 'domain' && (before?.deleted !== after.deleted || (before.digest === '') !== (after.digest === ''));

const moveSum = async (records: RecordStore, changed: ChangedRecord[], nowMs: number): Promise<void> => {
  const moved = changed.reduce((sum, {before, after}) => sum + hexNumber(after.digest) - hexNumber(before?.digest ?? ''), 0n);
  if (moved !== 0n) await writeSum(records, (await readSum(records)) + moved, nowMs);
};

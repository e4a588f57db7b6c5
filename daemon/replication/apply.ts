// Application of configuration changes: the only function that changes configuration, for the API of this node, peers, snapshots,
// repairs and stamp corrections.

import {createHash} from 'node:crypto';
import {groupBy} from '../../shared/collections.ts';
import type {ChangedRecord} from '../services/cluster/replication-ports.ts';
import type {RecordReads, RecordStore, RecordTransaction} from '../services/node-store.ts';
import {isComplete} from '../services/readable-record.ts';
import {
  allDomains,
  type ConfigRecord,
  type RecordKey,
  recordName,
  recordsByName,
  type StoredRecord,
} from '../services/records.ts';
import {childKinds, claimsIn, conflictsIn, mergeStates, parentIdOf, rulesOf, uniqueKeyOf} from './config-merge.ts';

/** Part of a record's state: the fields that were written, or the deletion. Applying it twice changes nothing. */
export type Change = ConfigRecord;

type ApplyTransaction = Pick<RecordTransaction, 'records'>;

/**
 * Merges `changes` and updates the record digests and the configuration hash, all inside the caller's transaction. Commutative,
 * associative and idempotent. Returns the changed records, including those that changed as a consequence: records with the same name,
 * and the children of a domain. Only stamp correction passes `combine`: it replaces the stored record instead of merging. A caller that
 * has read the stored records of `changes` in this transaction passes them as `read`.
 */
export const apply = async (
  tx: ApplyTransaction,
  changes: Change[],
  nowMs: number,
  {combine = mergeStates, read}: {combine?: typeof mergeStates; read?: StoredRecord[] | undefined} = {},
): Promise<ChangedRecord[]> => {
  const before = recordsByName(read ?? (await tx.records.findAll(changes)));
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
  const parents = await tx.records.findAll(
    differences(before, records)
      .flatMap(versionsOf)
      .flatMap(record => parentOf(record) ?? []),
  );
  const settleAll = (some: StoredRecord[]): void => {
    const known = new Map([...recordsByName(parents), ...records]);
    for (const record of settle(some, known)) records.set(recordName(record), record);
  };

  // All other records that ever had one of these names: one of them may win or lose the name.
  load(await tx.records.withUniqueKeys(differences(before, records).filter(concernsNames).flatMap(versionsOf)));
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

const versionsOf = ({before, after}: ChangedRecord): StoredRecord[] => (before ? [before, after] : [after]);

/** Whether the change can affect who has a name. A live record that keeps its name and both ends of its claim keeps it. */
const concernsNames = ({before, after}: ChangedRecord): boolean =>
  before === undefined ||
  !isLive(before) ||
  before.unique_key !== after.unique_key ||
  before.deleted !== after.deleted ||
  before.fields.created_at?.[1] !== after.fields.created_at?.[1];

/** Whether the change affects the children of the record. */
const concernsChildren = ({before, after}: ChangedRecord): boolean =>
  after.kind === 'domain' && (before?.deleted !== after.deleted || (before.digest === '') !== (after.digest === ''));

const moveSum = async (records: RecordStore, changed: ChangedRecord[], nowMs: number): Promise<void> => {
  const moved = changed.reduce((sum, {before, after}) => sum + hexNumber(after.digest) - hexNumber(before?.digest ?? ''), 0n);
  if (moved !== 0n) await writeSum(records, (await readSum(records)) + moved, nowMs);
};

/**
 * Returns `records` with the right digests, and deletes those whose parents are deleted: secrets must be removed, wherever and
 * whenever the record was made. `known` contains, by name, the records themselves, all records that ever had their names, and
 * their parents with correct digests.
 */
export const settle = (records: StoredRecord[], known: ReadonlyMap<string, StoredRecord>): StoredRecord[] => {
  const conflicts = conflictingNames([...known.values()]);
  return records.map(record => {
    const key = parentOf(record);
    const parent = key && known.get(recordName(key));
    const state = parent?.deleted ? mergeStates(record.kind, record, {fields: {}, deleted: parent.deleted}) : record;
    const isLive =
      state.deleted === null &&
      isComplete(record) &&
      !conflicts.has(recordName(record)) &&
      (key === undefined || (parent !== undefined && parent.digest !== ''));
    const settled = {...record, ...state, digest: isLive ? digestOf(record) : ''};
    return settled.deleted === record.deleted && settled.digest === record.digest ? record : settled;
  });
};

/** Filters for all domains have none. */
export const parentOf = ({kind, parent_id}: Pick<StoredRecord, 'kind' | 'parent_id'>): RecordKey | undefined => {
  const {parent} = rulesOf[kind];
  return parent && parent_id !== null && parent_id !== allDomains ? {kind: parent.kind, id: parent_id} : undefined;
};

/** The names of records that lost their unique keys to other records. */
const conflictingNames = (records: StoredRecord[]): Set<string> => {
  const named = records.filter(({unique_key}) => unique_key !== null);
  const groups = groupBy(named, ({kind, unique_key}) => `${kind} ${unique_key}`);
  return new Set(
    [...groups.values()].flatMap(group => {
      const conflicts = conflictsIn(claimsIn(group));
      return group.filter(({id}) => conflicts.has(id)).map(recordName);
    }),
  );
};

export const isLive = ({digest}: StoredRecord): boolean => digest !== '';

// Digests of records, and the hash of the whole configuration: the sum of all digests modulo 2^256, which does not depend on
// their order.

/** The digest covers values, not stamps: two nodes with the same values are configured alike. */
export const digestOf = ({kind, id, fields}: ConfigRecord): string => {
  const values = Object.keys(fields)
    .sort()
    .map(name => [name, fields[name]?.[0]]);
  return createHash('sha256')
    .update(JSON.stringify([kind, id, values]))
    .digest('hex');
};

/** A damaged number reads as -1, which no sum can be, so the next rebuild replaces it. */
export const hexNumber = (hex: string): bigint => {
  if (hex === '') return 0n;
  return /^[0-9a-f]+$/.test(hex) ? BigInt(`0x${hex}`) : -1n;
};

export const readSum = async (records: RecordReads): Promise<bigint> => hexNumber(await records.sum());

export const writeSum = async (records: RecordStore, sum: bigint, nowMs: number): Promise<void> => {
  await records.writeSum(BigInt.asUintN(256, sum).toString(16), nowMs);
};

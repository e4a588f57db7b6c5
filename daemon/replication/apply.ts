// Application of configuration changes: the only function that changes configuration, for the API of this node, peers, snapshots,
// repairs and stamp corrections.

import {createHash} from 'node:crypto';
import {groupBy} from '../../shared/collections.ts';
import type {ChangedRecord} from '../services/cluster/replication-ports.ts';
import type {Differences, IdRange, RecordReads, RecordStore, RecordTransaction} from '../services/node-store.ts';
import {
  allDomains,
  type ConfigRecord,
  type Kind,
  type Readable,
  type RecordKey,
  recordName,
  recordsByName,
  type StoredRecord,
} from '../services/records.ts';
import {stampMs} from './clock.ts';
import {
  childKinds,
  claimsIn,
  conflictsIn,
  isComplete,
  knownValues,
  mergeStates,
  parentIdOf,
  rulesOf,
  uniqueKeyOf,
} from './config-merge.ts';

/** Part of a record's state: the fields that were written, or the deletion. Applying it twice changes nothing. */
export type Change = ConfigRecord;

type ApplyTransaction = Pick<RecordTransaction, 'records'>;

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
      isComplete(record.kind, record) &&
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

/** Updates the readable tables after the records have changed. */
const project = async (records: RecordStore, changed: ChangedRecord[]): Promise<void> => {
  // Names are freed before they are taken, or the unique keys of the tables would fail.
  const gone = changed.filter(
    ({before, after}) => before && isLive(before) && (!isLive(after) || before.unique_key !== after.unique_key),
  );
  for (const [kind, some] of groupBy(gone, ({after}) => after.kind))
    await records.hide(
      kind,
      some.map(({after}) => after.id),
    );
  const live = changed.map(({after}) => after).filter(isLive);
  for (const [kind, some] of groupBy(live, record => record.kind)) await records.show(kind, some.map(toReadable));
};

/** Differences between the readable table of `kind` and its records, for ids in `range`. */
export const compareShown = async (
  reads: RecordReads,
  {kind, ...range}: IdRange & {kind: Kind},
  records: StoredRecord[],
): Promise<Differences> => reads.compareShown(kind, range, records.filter(isLive).map(toReadable));

/** Corrects the differences that were found. */
export const repairShown = async (records: RecordStore, kind: Kind, {missing, wrong}: Differences): Promise<void> => {
  await records.hide(
    kind,
    wrong.map(({id}) => id),
  );
  await records.restore(kind, missing);
};

const isLive = ({digest}: StoredRecord): boolean => digest !== '';

/** Converts a live record, whose values are valid. */
const toReadable = ({kind, id, fields}: StoredRecord): Readable => {
  const values = {id, ...knownValues(kind, fields)};
  return (kind === 'domain' ? {...values, updated_at: lastWriteOf(fields)} : values) as unknown as Readable;
};

const lastWriteOf = (fields: StoredRecord['fields']): string => {
  const last = Object.values(fields)
    .map(([, stamp]) => stamp)
    .sort()
    .at(-1);
  return new Date(stampMs(last ?? '')).toISOString();
};

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

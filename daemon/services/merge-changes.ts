// What a batch of changes makes of the records in a working set. No I/O: the same for every store, and for none.
import {createHash} from 'node:crypto';
import type {ConfigRecord, Kind, RecordKey, StoredRecord} from '../store/config-record.ts';
import {isComplete, losersOf, mergeStates, parentIdOf, type RecordState, rulesOf, uniqueKeyOf} from './config-merge.ts';
import {childKinds, type WorkingSet} from './working-set.ts';

export interface Settled {
  record: StoredRecord;
  isLive: boolean;
  /** Its digest until now. */
  before: string;
}

export interface Merged {
  /** The records that may look different now, parents before children. */
  settled: Settled[];
  /** What the sum of all digests moves by. */
  difference: bigint;
}

/** Merges `changes` into the set, and brings the digests in step. */
export const mergeChanges = (set: WorkingSet, changes: ConfigRecord[]): Merged => {
  const touched = new Map<string, RecordKey>();
  for (const change of changes) for (const key of merge(set, change)) touched.set(`${key.kind}/${key.id}`, key);

  const settled = settleAll(set, [...touched.values()]);
  const difference = settled.reduce((sum, {record, before}) => sum + hexNumber(record.digest) - hexNumber(before), 0n);
  return {settled, difference};
};

/** Says of each record whether it is live, and brings its digest in step with that. */
export const settleAll = (set: WorkingSet, keys: RecordKey[]): Settled[] => {
  // Parents first: whether a child is live depends on them.
  const ordered = keys.toSorted((a, b) => Number(childKinds.includes(a.kind)) - Number(childKinds.includes(b.kind)));
  return ordered.map(key => {
    const record = known(set, key);
    const isLive = isLiveIn(set, record);
    const digest = isLive ? digestOf(record) : '';
    if (digest === record.digest) return {record, isLive, before: digest};
    const after = {...record, digest};
    set.put(after);
    return {record: after, isLive, before: record.digest};
  });
};

/** Values only: stamps tell when, and two nodes with the same values are configured alike. */
export const digestOf = ({kind, id, fields}: ConfigRecord): string => {
  const values = Object.keys(fields)
    .sort()
    .map(name => [name, fields[name]?.[0]]);
  return createHash('sha256')
    .update(JSON.stringify([kind, id, values]))
    .digest('hex');
};

export const hexNumber = (hex: string): bigint => (hex === '' ? 0n : BigInt(`0x${hex}`));

/** Returns the records that may be live now and were not, or the other way round. */
const merge = (set: WorkingSet, change: ConfigRecord): RecordKey[] => {
  const merged = mergeInto(set, change);
  if (!merged) return [];
  const affected = affectedBy(set, merged);
  if (merged.deleted !== null) for (const key of affected) mergeInto(set, {...key, fields: {}, deleted: null});
  return affected;
};

const mergeInto = (set: WorkingSet, change: ConfigRecord): StoredRecord | undefined => {
  const {kind, id} = change;
  const before = set.find(change);
  const state = withParent(set, kind, mergeStates(kind, before ?? {fields: {}, deleted: null}, change));
  if (before && before.deleted === state.deleted && canonical(before.fields) === canonical(state.fields)) return undefined;

  const after: StoredRecord = {
    kind,
    id,
    ...state,
    unique_key: uniqueKeyOf(kind, state),
    parent_id: parentIdOf(kind, state),
    digest: before?.digest ?? '',
  };
  set.put(after);
  return after;
};

/** What belongs to a deleted record is deleted with it, whenever and wherever it was made: its secrets have to go as well. */
const withParent = (set: WorkingSet, kind: Kind, state: RecordState): RecordState => {
  const {parent} = rulesOf[kind];
  const parentId = parentIdOf(kind, state);
  if (!parent || parentId === null) return state;
  const holder = set.find({kind: parent.kind, id: parentId});
  return holder?.deleted ? mergeStates(kind, state, {fields: {}, deleted: holder.deleted}) : state;
};

const affectedBy = (set: WorkingSet, record: StoredRecord): RecordKey[] => {
  const rivals = record.unique_key === null ? [record] : set.withUniqueKey(record.kind, record.unique_key);
  return [...rivals, ...rivals.flatMap(rival => set.childrenOf(rival))].map(({kind, id}) => ({kind, id}));
};

const isLiveIn = (set: WorkingSet, record: StoredRecord): boolean => {
  if (record.deleted !== null || !isComplete(record.kind, record)) return false;
  if (record.unique_key !== null && losersOf(claimsIn(set.withUniqueKey(record.kind, record.unique_key))).has(record.id))
    return false;
  const {parent} = rulesOf[record.kind];
  if (!parent || record.parent_id === null) return true;
  const holder = set.find({kind: parent.kind, id: record.parent_id});
  return holder !== undefined && isLiveIn(set, holder);
};

/** Those of which it is known when they were created. */
export const claimsIn = (records: StoredRecord[]) =>
  records.flatMap(({id, fields, deleted}) => {
    const created = fields.created_at?.[1];
    return created === undefined ? [] : [{id, created, deleted}];
  });

const known = (set: WorkingSet, key: RecordKey): StoredRecord => {
  const record = set.find(key);
  if (!record) throw new Error(`config record ${key.kind}/${key.id} is not in the working set it was touched in`);
  return record;
};

const canonical = (fields: ConfigRecord['fields']): string =>
  JSON.stringify(
    Object.keys(fields)
      .sort()
      .map(name => [name, fields[name]]),
  );

// What a batch of changes makes of the records in a working set. No I/O: the same for every store, and for none.
import {createHash} from 'node:crypto';
import type {ConfigRecord, Kind, RecordKey, StoredRecord} from '../store/sqlite/config-record.ts';
import {isComplete, losersOf, mergeStates, parentIdOf, type RecordState, rulesOf, uniqueKeyOf} from './config-merge.ts';
import {concernsOthers, type WorkingSet} from './working-set.ts';

/** Merges `changes` into the set and brings the digests in step; returns what the sum of all digests moves by. */
export const mergeChanges = (set: WorkingSet, changes: ConfigRecord[]): bigint => {
  const touched = new Map<string, RecordKey>();
  const edited = new Map<string, RecordKey>();
  for (const change of changes) {
    const {affected, isAlone} = merge(set, change);
    for (const key of affected) (isAlone ? edited : touched).set(`${key.kind}/${key.id}`, key);
  }
  settleAll(set, [...touched.values()]);
  settleEdited(
    set,
    [...edited].flatMap(([name, key]) => (touched.has(name) ? [] : [key])),
  );
  return set.changed().reduce((sum, {before, after}) => sum + hexNumber(after.digest) - hexNumber(before?.digest ?? ''), 0n);
};

/** Brings the digests of these records in step with what they are and with whether they are live. */
export const settleAll = (set: WorkingSet, keys: RecordKey[]): void => {
  const isLive = liveIn(set);
  for (const key of keys) {
    const record = known(set, key);
    const digest = isLive(record) ? digestOf(record) : '';
    if (digest !== record.digest) set.put({...record, digest});
  }
};

/** Those that are as live as they were: nobody has looked whose name they have. */
const settleEdited = (set: WorkingSet, keys: RecordKey[]): void => {
  for (const key of keys) {
    const record = known(set, key);
    if (record.digest !== '') set.put({...record, digest: digestOf(record)});
  }
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

/** What a disk has made of a number is taken for one that no sum is: the next count finds it wrong, and makes it anew. */
export const hexNumber = (hex: string): bigint => {
  if (hex === '') return 0n;
  return /^[0-9a-f]+$/.test(hex) ? BigInt(`0x${hex}`) : -1n;
};

/** The records that may be live now and were not, or the other way round; or the one that was only edited. */
const merge = (set: WorkingSet, change: ConfigRecord): {affected: RecordKey[]; isAlone: boolean} => {
  const before = set.find(change);
  const merged = mergeInto(set, change);
  if (!merged) return {affected: [], isAlone: true};
  if (!concernsOthers(change.kind, before ?? {fields: {}, deleted: null}, merged))
    return {affected: [keyOf(merged)], isAlone: true};

  const affected = affectedBy(set, merged, before?.unique_key ?? null);
  if (merged.deleted !== null) for (const key of affected) mergeInto(set, {...key, fields: {}, deleted: null});
  return {affected, isAlone: false};
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

const affectedBy = (set: WorkingSet, record: StoredRecord, formerKey: string | null): RecordKey[] => {
  const names = new Set([record.unique_key, formerKey]);
  const rivals = [...names].flatMap(name => (name === null ? [] : set.withUniqueKey(record.kind, name)));
  const concerned = new Map([record, ...rivals].map(one => [one.id, one]));
  return [...concerned.values()].flatMap(one => [one, ...set.childrenOf(one)]).map(keyOf);
};

/** Asks of each record once: a domain of a thousand filters is asked a thousand times. */
const liveIn = (set: WorkingSet): ((record: StoredRecord) => boolean) => {
  const answers = new Map<string, boolean>();
  const isLive = (record: StoredRecord): boolean => {
    const name = `${record.kind}/${record.id}`;
    const known = answers.get(name);
    if (known !== undefined) return known;
    const answer = lookAt(record);
    answers.set(name, answer);
    return answer;
  };
  const lookAt = (record: StoredRecord): boolean => {
    if (record.deleted !== null || !isComplete(record.kind, record)) return false;
    if (record.unique_key !== null && losersOf(claimsIn(set.withUniqueKey(record.kind, record.unique_key))).has(record.id))
      return false;
    const {parent} = rulesOf[record.kind];
    if (!parent || record.parent_id === null) return true;
    const holder = set.find({kind: parent.kind, id: record.parent_id});
    return holder !== undefined && isLive(holder);
  };
  return isLive;
};

/** Those of which it is known when they were created. */
export const claimsIn = (records: StoredRecord[]) =>
  records.flatMap(({id, fields, deleted}) => {
    const created = fields.created_at?.[1];
    return created === undefined ? [] : [{id, created, deleted}];
  });

const keyOf = ({kind, id}: RecordKey): RecordKey => ({kind, id});

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

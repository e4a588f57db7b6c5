// Liveness of records. A live record has a stored digest, every other record has none. No I/O.

import {groupBy} from '../../shared/group-by.ts';
import {type RecordKey, recordName, type StoredRecord} from '../services/records.ts';
import {digestOf} from './config-hash.ts';
import {claimsIn, conflictsIn, isComplete, mergeStates, rulesOf} from './config-merge.ts';

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

export const parentOf = ({kind, parent_id}: Pick<StoredRecord, 'kind' | 'parent_id'>): RecordKey | undefined => {
  const {parent} = rulesOf[kind];
  return parent && parent_id !== null ? {kind: parent.kind, id: parent_id} : undefined;
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

// Records before and after a change.
import type {RecordKey, StoredRecord} from '../store/sqlite/config-record.ts';

export interface ChangedRecord {
  before: StoredRecord | undefined;
  after: StoredRecord;
}

/** A record that looks different after a change, and the one it belongs to. */
export type ChangedKey = RecordKey & Pick<StoredRecord, 'parent_id'>;

/** A record that has moved is named under its former parent as well. */
export const changedKeys = (changed: ChangedRecord[]): ChangedKey[] =>
  changed.flatMap(({before, after: {kind, id, parent_id}}) => {
    const hasMoved = before && before.parent_id !== null && before.parent_id !== parent_id;
    return [{kind, id, parent_id}, ...(hasMoved ? [{kind, id, parent_id: before.parent_id}] : [])];
  });

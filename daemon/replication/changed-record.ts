// Keys of changed records.
import type {ChangedRecord} from '../services/cluster/replication-ports.ts';
import type {ChangedKey} from '../services/records.ts';

/** A record that moved to another parent is listed under its former parent as well. */
export const changedKeys = (changed: ChangedRecord[]): ChangedKey[] =>
  changed.flatMap(({before, after: {kind, id, parent_id}}) => {
    const hasMoved = before && before.parent_id !== null && before.parent_id !== parent_id;
    return [{kind, id, parent_id}, ...(hasMoved ? [{kind, id, parent_id: before.parent_id}] : [])];
  });

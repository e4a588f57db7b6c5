// Keys of the records that have changed since a number of the change log, and of all records.
import {childKinds} from '../replication/config-merge.ts';
import type {ReplicationEvent} from '../services/cluster/peer-protocol.ts';
import type {CommonStore} from '../services/common-store.ts';
import {type ChangedKey, isKind, type RecordKey, recordName, type StoredRecord} from '../services/records.ts';

type Reads = Pick<CommonStore, 'outbox' | 'records'>;

const page = {limit: 500, maxChars: 1024 * 1024};

/**
 * The records that changes after number `after`, up to number `upTo`, have altered, without the changes that `isKnown` names.
 * Undefined when the change log does not reach back that far, or not up to `upTo`.
 */
export const changedSince = async (
  store: Reads,
  {after, upTo}: {after: number; upTo: number},
  isKnown: (seq: number) => boolean,
): Promise<ChangedKey[] | undefined> => {
  const keys = new Map<string, RecordKey>();
  for (let read = after; read < upTo; ) {
    const {floor, entries} = await store.outbox.after(read, page);
    const last = entries.at(-1);
    if (floor > read || !last) return undefined;
    for (const {seq, event} of entries as ReplicationEvent[])
      if (seq <= upTo && !isKnown(seq)) for (const key of event.changes) if (isKind(key.kind)) keys.set(recordName(key), key);
    read = last.seq;
  }
  return withConsequences(store, [...keys.values()]);
};

/** A change contains what was written. It may also alter records with the same name, and the children of a domain. */
const withConsequences = async ({records}: Reads, keys: RecordKey[]): Promise<ChangedKey[]> => {
  if (keys.length === 0) return [];
  const written = await records.findAll(keys);
  const named = await records.withUniqueKeys(written);
  const names = new Set(keys.map(recordName));
  const withChildren = named.filter(
    record => record.kind === 'domain' && (record.digest === '' || !names.has(recordName(record))),
  );
  const children = await records.childrenOf(
    childKinds,
    withChildren.map(({id}) => id),
  );
  const changed = new Map(keys.map(({kind, id}) => [recordName({kind, id}), {kind, id, parent_id: null} as ChangedKey]));
  for (const record of [...written, ...named, ...children]) changed.set(recordName(record), changedKey(record));
  return [...changed.values()];
};

const recordsPerPage = 500;

/** The keys of all records in the store. */
export const allKeys = async ({records}: Pick<Reads, 'records'>): Promise<ChangedKey[]> => {
  const keys: ChangedKey[] = [];
  for (;;) {
    const some = await records.after(keys.at(-1), recordsPerPage);
    keys.push(...some.map(changedKey));
    if (some.length < recordsPerPage) return keys;
  }
};

const changedKey = ({kind, id, parent_id}: StoredRecord): ChangedKey => ({kind, id, parent_id});

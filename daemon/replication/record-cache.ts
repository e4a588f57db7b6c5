// The records that one transaction has to do with, as its changes have left them.
import type {Kind, RecordKey, StoredRecord} from '../store/sqlite/config-record.ts';
import type {Db} from '../store/sqlite/database.ts';
import {sourceIn} from './record-source.ts';
import {type ChangedRecord, childKinds, type RecordSource} from './working-set.ts';

export interface RecordCache {
  source: RecordSource;
  keep(changed: ChangedRecord[]): void;
  /** What is to be written, with what was there when it was last written. */
  takeChanged(): ChangedRecord[];
}

export const createRecordCache = (tx: Db): RecordCache => {
  const table = sourceIn(tx);
  /** By name; undefined where there is none. */
  const known = new Map<string, StoredRecord | undefined>();
  let changed = new Map<string, ChangedRecord>();

  const learn = (records: StoredRecord[]): void => {
    for (const record of records) if (!known.has(nameOf(record))) known.set(nameOf(record), record);
  };
  const present = (): StoredRecord[] => [...known.values()].flatMap(record => record ?? []);

  const find = async (keys: RecordKey[]): Promise<StoredRecord[]> => {
    const wanted = keys.filter(key => !known.has(nameOf(key)));
    if (wanted.length > 0) learn(await table.find(wanted));
    for (const key of wanted) if (!known.has(nameOf(key))) known.set(nameOf(key), undefined);
    return keys.flatMap(key => known.get(nameOf(key)) ?? []);
  };

  return {
    source: {
      find,
      async withUniqueKeys(kind: Kind, uniqueKeys: string[]) {
        learn(await table.withUniqueKeys(kind, uniqueKeys));
        const wanted = new Set(uniqueKeys);
        return present().filter(record => record.kind === kind && record.unique_key !== null && wanted.has(record.unique_key));
      },
      async childrenOf(parentIds) {
        learn(await table.childrenOf(parentIds));
        const wanted = new Set(parentIds);
        return present().filter(({kind, parent_id}) => childKinds.includes(kind) && parent_id !== null && wanted.has(parent_id));
      },
    },
    keep(some) {
      for (const {before, after} of some) {
        const name = nameOf(after);
        known.set(name, after);
        const first = changed.get(name);
        changed.set(name, {before: first ? first.before : before, after});
      }
    },
    takeChanged() {
      const all = [...changed.values()];
      changed = new Map();
      return all;
    },
  };
};

const nameOf = ({kind, id}: RecordKey): string => `${kind}/${id}`;

// Configuration records in memory, for tests of many thousand histories: the merging is the product's, only the tables are not.
import type {Change} from '../../daemon/replication/apply.ts';
import {hexNumber, mergeChanges} from '../../daemon/replication/merge-changes.ts';
import {childKinds, loadWorkingSet, type RecordSource} from '../../daemon/replication/working-set.ts';
import type {RecordKey, StoredRecord} from '../../daemon/store/sqlite/config-record.ts';

export interface RecordStore {
  apply(changes: Change[]): Promise<void>;
  /** Everything there is, in one order. */
  dump(): StoredRecord[];
  /** The running sum of digests, and the same worked out anew. */
  sums(): {kept: bigint; recomputed: bigint};
}

export const createRecordStore = (): RecordStore => {
  const records = new Map<string, StoredRecord>();
  let sum = 0n;
  const nameOf = ({kind, id}: RecordKey) => `${kind}/${id}`;
  const all = () => [...records.values()];
  const source: RecordSource = {
    find: async keys => keys.flatMap(key => records.get(nameOf(key)) ?? []),
    withUniqueKeys: async (kind, uniqueKeys) =>
      all().filter(record => record.kind === kind && uniqueKeys.includes(record.unique_key ?? '')),
    childrenOf: async ids => all().filter(({kind, parent_id}) => childKinds.includes(kind) && ids.includes(parent_id ?? 0)),
  };

  return {
    async apply(changes) {
      const set = await loadWorkingSet(source, changes);
      sum = BigInt.asUintN(256, sum + mergeChanges(set, changes));
      for (const {after} of set.changed()) records.set(nameOf(after), after);
    },
    dump: () => all().toSorted((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1)),
    sums: () => ({
      kept: sum,
      recomputed: BigInt.asUintN(
        256,
        all().reduce((total, {digest}) => total + hexNumber(digest), 0n),
      ),
    }),
  };
};

// The records that a batch of changes can have to do with, in memory: those it names, the rivals for their names, their
// parents and their children. Read in a few queries however long the batch is, changed without any, written back in one.
import type {Kind, RecordKey, StoredRecord} from '../store/config-record.ts';
import {mergeStates, parentIdOf, type RecordState, rulesOf, uniqueKeyOf} from './config-merge.ts';

/** Where records come from; each call takes any number of keys. */
export interface RecordSource {
  find(keys: RecordKey[]): Promise<StoredRecord[]>;
  withUniqueKeys(kind: Kind, uniqueKeys: string[]): Promise<StoredRecord[]>;
  childrenOf(parentIds: number[]): Promise<StoredRecord[]>;
}

export interface WorkingSet {
  find(key: RecordKey): StoredRecord | undefined;
  /** All that ever claimed the key, whoever has it. */
  withUniqueKey(kind: Kind, uniqueKey: string): StoredRecord[];
  childrenOf(parent: RecordKey): StoredRecord[];
  put(record: StoredRecord): void;
  /** What was put, in its last form. */
  changed(): StoredRecord[];
}

export const childKinds = (Object.keys(rulesOf) as Kind[]).filter(kind => rulesOf[kind].parent !== undefined);

const hasChildren = (kind: Kind): boolean => childKinds.some(child => rulesOf[child].parent?.kind === kind);

export const loadWorkingSet = async (source: RecordSource, changes: (RecordKey & RecordState)[]): Promise<WorkingSet> => {
  const set = createWorkingSet();
  const asked = {keys: new Set<string>(), unique: new Set<string>(), parents: new Set<number>()};
  const wantedKeys = new Map<string, RecordKey>();
  const wantedUnique = new Map<Kind, Set<string>>();
  const wantedParents = new Set<number>();

  const wantKey = (key: RecordKey) => {
    if (!asked.keys.has(nameOf(key))) wantedKeys.set(nameOf(key), key);
  };
  const wantUnique = (kind: Kind, uniqueKey: string | null) => {
    if (uniqueKey === null || asked.unique.has(`${kind} ${uniqueKey}`)) return;
    wantedUnique.set(kind, (wantedUnique.get(kind) ?? new Set()).add(uniqueKey));
  };
  /** What else has to be known once this is. */
  const follow = (key: RecordKey, state: RecordState) => {
    wantUnique(key.kind, uniqueKeyOf(key.kind, state));
    const {parent} = rulesOf[key.kind];
    const parentId = parentIdOf(key.kind, state);
    if (parent && parentId !== null) wantKey({kind: parent.kind, id: parentId});
    if (hasChildren(key.kind) && !asked.parents.has(key.id)) wantedParents.add(key.id);
  };
  const take = (records: StoredRecord[]) => {
    for (const record of records) {
      if (set.find(record)) continue;
      set.load(record);
      asked.keys.add(nameOf(record));
      follow(record, record);
    }
  };

  for (const change of changes) wantKey(change);
  await fetchWanted();
  const states = new Map<string, RecordState>();
  for (const change of changes) {
    const before = states.get(nameOf(change)) ?? set.find(change) ?? {fields: {}, deleted: null};
    const state = mergeStates(change.kind, before, change);
    states.set(nameOf(change), state);
    follow(change, state);
  }
  while (wantedKeys.size + wantedUnique.size + wantedParents.size > 0) await fetchWanted();
  return set;

  async function fetchWanted(): Promise<void> {
    const keys = [...wantedKeys.values()];
    const unique = [...wantedUnique];
    const parents = [...wantedParents];
    wantedKeys.clear();
    wantedUnique.clear();
    wantedParents.clear();
    for (const key of keys) asked.keys.add(nameOf(key));
    for (const [kind, uniqueKeys] of unique) for (const uniqueKey of uniqueKeys) asked.unique.add(`${kind} ${uniqueKey}`);
    for (const id of parents) asked.parents.add(id);

    if (keys.length > 0) take(await source.find(keys));
    for (const [kind, uniqueKeys] of unique) take(await source.withUniqueKeys(kind, [...uniqueKeys]));
    if (parents.length > 0) take(await source.childrenOf(parents));
  }
};

const createWorkingSet = (): WorkingSet & {load(record: StoredRecord): void} => {
  const records = new Map<string, StoredRecord>();
  const byUnique = new Map<string, Set<string>>();
  const byParent = new Map<number, Set<string>>();
  const changed = new Set<string>();
  const present = (names: Iterable<string> = []) => [...names].flatMap(name => records.get(name) ?? []);

  const load = (record: StoredRecord) => {
    const name = nameOf(record);
    const before = records.get(name);
    records.set(name, record);
    if (before && before.unique_key !== record.unique_key) byUnique.get(`${record.kind} ${before.unique_key}`)?.delete(name);
    if (before && before.parent_id !== record.parent_id) byParent.get(before.parent_id ?? 0)?.delete(name);
    if (record.unique_key !== null) addTo(byUnique, `${record.kind} ${record.unique_key}`, name);
    if (record.parent_id !== null) addTo(byParent, record.parent_id, name);
  };

  return {
    load,
    find: key => records.get(nameOf(key)),
    withUniqueKey: (kind, uniqueKey) => present(byUnique.get(`${kind} ${uniqueKey}`)),
    childrenOf: ({kind, id}) => (hasChildren(kind) ? present(byParent.get(id)) : []),
    put(record) {
      load(record);
      changed.add(nameOf(record));
    },
    changed: () => present(changed),
  };
};

const addTo = <K>(index: Map<K, Set<string>>, key: K, name: string): void => {
  const names = index.get(key);
  if (names) names.add(name);
  else index.set(key, new Set([name]));
};

const nameOf = ({kind, id}: RecordKey): string => `${kind}/${id}`;

// The records that a batch of changes can have to do with, in memory: those it names, the rivals for their names, their
// parents and their children. Read in a few queries however long the batch is, changed without any, written back in one.
import type {Kind, RecordKey, StoredRecord} from '../store/sqlite/config-record.ts';
import {isComplete, mergeStates, parentIdOf, type RecordState, rulesOf, uniqueKeyOf} from './config-merge.ts';

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
  /** What was put, with what was there before. */
  changed(): ChangedRecord[];
}

export interface ChangedRecord {
  before: StoredRecord | undefined;
  after: StoredRecord;
}

export const childKinds = (Object.keys(rulesOf) as Kind[]).filter(kind => rulesOf[kind].parent !== undefined);

const hasChildren = (kind: Kind): boolean => childKinds.some(child => rulesOf[child].parent?.kind === kind);

const nothing: RecordState = {fields: {}, deleted: null};

export const loadWorkingSet = async (source: RecordSource, changes: (RecordKey & RecordState)[]): Promise<WorkingSet> => {
  const loader = createLoader(source);
  await loader.loadAlone(changes);

  const {set} = loader;
  const states = new Map<string, RecordState>();
  const claimed = new Map<string, {kind: Kind; uniqueKey: string}>();
  const parents = new Set<number>();
  for (const change of changes) {
    const {kind, id} = change;
    const before = states.get(nameOf(change)) ?? set.find(change) ?? nothing;
    const state = mergeStates(kind, before, change);
    states.set(nameOf(change), state);
    if (!concernsOthers(kind, before, state)) continue;
    loader.follow(change, before);
    loader.follow(change, state);
    if (!hasChildren(kind)) continue;
    parents.add(id);
    for (const key of [uniqueKeyOf(kind, before), uniqueKeyOf(kind, state)])
      if (key !== null) claimed.set(`${kind} ${key}`, {kind, uniqueKey: key});
  }
  await loader.load();

  // Whoever wins or loses a name takes its children along.
  for (const {kind, uniqueKey} of claimed.values()) for (const {id} of set.withUniqueKey(kind, uniqueKey)) parents.add(id);
  await loader.loadChildren([...parents]);
  return set;
};

/** What it takes to say of each of `records` whether it is live: no children. */
export const loadAround = async (source: RecordSource, records: StoredRecord[]): Promise<WorkingSet> => {
  const loader = createLoader(source);
  loader.take(records);
  await loader.load();
  return loader.set;
};

/** Whether it can make a difference to rivals and children that a record was `before` and is `after`. */
export const concernsOthers = (kind: Kind, before: RecordState, after: RecordState): boolean =>
  before.deleted !== after.deleted ||
  before.fields.created_at?.[1] !== after.fields.created_at?.[1] ||
  uniqueKeyOf(kind, before) !== uniqueKeyOf(kind, after) ||
  parentIdOf(kind, before) !== parentIdOf(kind, after) ||
  isComplete(kind, before) !== isComplete(kind, after);

const createLoader = (source: RecordSource) => {
  const set = createWorkingSet();
  const asked = {keys: new Set<string>(), unique: new Set<string>()};
  const alone = new Set<string>();
  const wantedKeys = new Map<string, RecordKey>();
  const wantedUnique = new Map<Kind, Set<string>>();

  const wantKey = (key: RecordKey) => {
    if (!asked.keys.has(nameOf(key))) wantedKeys.set(nameOf(key), key);
    else followAlone(key);
  };
  /** What else has to be known once this is. */
  const follow = ({kind}: RecordKey, state: RecordState) => {
    const uniqueKey = uniqueKeyOf(kind, state);
    if (uniqueKey !== null && !asked.unique.has(`${kind} ${uniqueKey}`))
      wantedUnique.set(kind, (wantedUnique.get(kind) ?? new Set()).add(uniqueKey));
    const {parent} = rulesOf[kind];
    const parentId = parentIdOf(kind, state);
    if (parent && parentId !== null) wantKey({kind: parent.kind, id: parentId});
  };
  /** What was loaded without whom it has to do with turns out to matter to somebody. */
  const followAlone = (key: RecordKey) => {
    const record = set.find(key);
    if (alone.delete(nameOf(key)) && record) follow(record, record);
  };
  const take = (records: StoredRecord[]) => {
    for (const record of records) {
      if (set.find(record)) {
        followAlone(record);
        continue;
      }
      set.load(record);
      asked.keys.add(nameOf(record));
      follow(record, record);
    }
  };

  const fetchWanted = async (): Promise<void> => {
    const keys = [...wantedKeys.values()].filter(key => !asked.keys.has(nameOf(key)));
    const unique = [...wantedUnique];
    wantedKeys.clear();
    wantedUnique.clear();
    for (const key of keys) asked.keys.add(nameOf(key));
    for (const [kind, uniqueKeys] of unique) for (const uniqueKey of uniqueKeys) asked.unique.add(`${kind} ${uniqueKey}`);

    if (keys.length > 0) take(await source.find(keys));
    for (const [kind, uniqueKeys] of unique) take(await source.withUniqueKeys(kind, [...uniqueKeys]));
  };
  const load = async (keys: RecordKey[] = []): Promise<void> => {
    for (const key of keys) wantKey(key);
    while (wantedKeys.size + wantedUnique.size > 0) await fetchWanted();
  };

  return {
    set,
    follow,
    take,
    load,
    /** Without whom else they have to do with: an edit has nothing to do with anybody. */
    async loadAlone(keys: RecordKey[]): Promise<void> {
      for (const record of await source.find(keys)) {
        set.load(record);
        alone.add(nameOf(record));
      }
      for (const key of keys) asked.keys.add(nameOf(key));
    },
    async loadChildren(parentIds: number[]): Promise<void> {
      if (parentIds.length > 0) take(await source.childrenOf(parentIds));
      await load();
    },
  };
};

const createWorkingSet = (): WorkingSet & {load(record: StoredRecord): void} => {
  const records = new Map<string, StoredRecord>();
  const byUnique = new Map<string, Set<string>>();
  const byParent = new Map<number, Set<string>>();
  const changed = new Map<string, StoredRecord | undefined>();
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
      const name = nameOf(record);
      if (!changed.has(name)) changed.set(name, records.get(name));
      load(record);
    },
    changed: () =>
      [...changed].flatMap(([name, before]) => {
        const after = records.get(name);
        return after ? [{before, after}] : [];
      }),
  };
};

const addTo = <K>(index: Map<K, Set<string>>, key: K, name: string): void => {
  const names = index.get(key);
  if (names) names.add(name);
  else index.set(key, new Set([name]));
};

const nameOf = ({kind, id}: RecordKey): string => `${kind}/${id}`;

// Directory of all API keys in memory, by hash, so that a request is authenticated without a query.
import {hash} from 'node:crypto';
import type {ConfigStore, Store} from '../ports.ts';
import type {StoredApiKey} from '../records.ts';

export interface KeyDirectory extends Omit<KeyUses, 'forget'> {
  /** The key with this hash, if any; queries the database only if memory has none. */
  findByHash(keyHash: string): Promise<StoredApiKey | undefined>;
  /** Reads memory only: a key that `mfd bootstrap-key` added is not found until it has been used here. */
  findById(keyId: number): StoredApiKey | undefined;
  /** All keys in memory. */
  list(): StoredApiKey[];
}

export const hashKey = (value: string): string => hash('sha256', value);

export const createKeyDirectory = async (store: Store, configuration: ConfigStore): Promise<KeyDirectory> => {
  const byHash = new Map<string, StoredApiKey>();
  const hashOfId = new Map<number, string>();
  const {forget: forgetUses, ...uses} = await openKeyUses(store, keyId => hashOfId.has(keyId));
  let changes = 0;

  const remember = (key: StoredApiKey) => {
    const previousHash = hashOfId.get(key.id);
    if (previousHash !== undefined && previousHash !== key.key_hash) byHash.delete(previousHash);
    byHash.set(key.key_hash, key);
    hashOfId.set(key.id, key.key_hash);
  };
  const forget = (id: number) => {
    const hash = hashOfId.get(id);
    if (hash !== undefined) byHash.delete(hash);
    hashOfId.delete(id);
    forgetUses(id);
  };

  for (const key of await store.config.listApiKeys()) remember(key);

  configuration.onChange(async changed => {
    changes += 1;
    const ids = changed.filter(({kind}) => kind === 'api_key').map(({id}) => id);
    const keys = new Map((await store.config.listApiKeys(ids)).map(key => [key.id, key]));
    for (const id of ids) {
      const key = keys.get(id);
      if (key) remember(key);
      else forget(id);
    }
  });

  return {
    ...uses,
    async findByHash(keyHash) {
      for (;;) {
        const known = byHash.get(keyHash);
        if (known) return known;
        // `mfd bootstrap-key` writes to the database of a running node.
        const changesBefore = changes;
        const stored = await store.config.findApiKey({key_hash: keyHash});
        if (!stored) return undefined;
        // A key that was revoked or deleted during the query must not be stored in its old state.
        if (changesBefore !== changes) continue;
        remember(stored);
        return stored;
      }
    },
    findById(keyId) {
      const hash = hashOfId.get(keyId);
      return hash === undefined ? undefined : byHash.get(hash);
    },
    list: () => [...byHash.values()],
  };
};

interface KeyUses {
  lastUsedAt(keyId: number): string | null;
  /** Records a use on this node; `flush` writes it to the store. */
  touch(keyId: number, at: Date): void;
  /** Records a use on another node; `at` is ISO 8601. */
  receiveUse(keyId: number, at: string): void;
  /** The keys used on this node after use number `after`, each with its latest use; `upTo` is the number of the newest use. */
  usesAfter(after: number): {uses: [keyId: number, at: string][]; upTo: number};
  forget(keyId: number): void;
  flush(): Promise<void>;
}

/** Ignores uses of keys for which `isKnown` returns false. */
const openKeyUses = async (store: Store, isKnown: (keyId: number) => boolean): Promise<KeyUses> => {
  const latest = new Map<number, string>();
  const unwritten = new Set<number>();
  /** The number of the latest use on this node, by key id. */
  const usedHere = new Map<number, number>();
  let useCount = 0;
  for (const use of await store.keyUses.list()) latest.set(use.key_id, use.last_used_at);

  const record = (keyId: number, at: string) => {
    if (!isKnown(keyId) || at <= (latest.get(keyId) ?? '')) return;
    latest.set(keyId, at);
    unwritten.add(keyId);
  };

  return {
    lastUsedAt: keyId => latest.get(keyId) ?? null,
    touch(keyId, at) {
      record(keyId, at.toISOString());
      useCount += 1;
      usedHere.set(keyId, useCount);
    },
    receiveUse: record,
    usesAfter(after) {
      const uses = [...usedHere].flatMap(([keyId, number]): [number, string][] => {
        const at = latest.get(keyId);
        return number > after && at !== undefined ? [[keyId, at]] : [];
      });
      return {uses, upTo: useCount};
    },
    forget(keyId) {
      latest.delete(keyId);
      usedHere.delete(keyId);
      unwritten.delete(keyId);
    },
    async flush() {
      if (unwritten.size === 0) return;
      // In one order: the other nodes of a common store write the same rows.
      const batch = [...unwritten]
        .toSorted((a, b) => a - b)
        .flatMap(keyId => {
          const at = latest.get(keyId);
          return at === undefined ? [] : [{key_id: keyId, last_used_at: at}];
        });
      unwritten.clear();
      try {
        await store.transaction(async tx => tx.keyUses.record(batch));
      } catch (error) {
        for (const {key_id} of batch) if (latest.has(key_id)) unwritten.add(key_id);
        throw error;
      }
    },
  };
};

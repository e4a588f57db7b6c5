// All API keys in memory, found by hash: a request is authenticated without a query.

import {hash} from 'node:crypto';
import type {Store} from '../../services/ports.ts';
import type {ConfigStore} from '../ports.ts';
import type {StoredApiKey} from '../records.ts';

export interface KeyDirectory {
  /** The key whose value hashes to this, if any; asks the database only for what memory does not have. */
  findByHash(keyHash: string): Promise<StoredApiKey | undefined>;
  /** From memory only: one that was made beside this node and never used here is not found. */
  findById(keyId: number): StoredApiKey | undefined;
  /** All that are in memory. */
  list(): StoredApiKey[];
  lastUsedAt(keyId: number): string | null;
  /** Notes a use here; written to the store in batches by `flush`. */
  touch(keyId: number, at: Date): void;
  /** Notes a use on another node, ISO 8601. */
  receiveUse(keyId: number, at: string): void;
  /** The keys used here since the `after`-th use, each with its latest; `upTo` is the number of the newest. */
  usesAfter(after: number): {uses: [keyId: number, at: string][]; upTo: number};
  flush(): Promise<void>;
}

export const hashKey = (value: string): string => hash('sha256', value);

export const createKeyDirectory = async (store: Store, configuration: ConfigStore): Promise<KeyDirectory> => {
  const byHash = new Map<string, StoredApiKey>();
  const hashOfId = new Map<number, string>();
  const uses = new Map<number, string>();
  const unwritten = new Set<number>();
  /** The number of the latest use here, by key, in the order of use. */
  const usedHere = new Map<number, number>();
  let useCount = 0;
  let changes = 0;

  const note = (keyId: number, at: string) => {
    if (!hashOfId.has(keyId) || at <= (uses.get(keyId) ?? '')) return;
    uses.set(keyId, at);
    unwritten.add(keyId);
  };

  const keep = (key: StoredApiKey) => {
    const former = hashOfId.get(key.id);
    if (former !== undefined && former !== key.key_hash) byHash.delete(former);
    byHash.set(key.key_hash, key);
    hashOfId.set(key.id, key.key_hash);
  };
  const forget = (id: number) => {
    const hash = hashOfId.get(id);
    if (hash !== undefined) byHash.delete(hash);
    hashOfId.delete(id);
    uses.delete(id);
    usedHere.delete(id);
    unwritten.delete(id);
  };

  for (const key of await store.config.listApiKeys()) keep(key);
  for (const use of await store.keyUses.list()) uses.set(use.key_id, use.last_used_at);

  configuration.onChange(async changed => {
    changes += 1;
    const ids = changed.filter(({kind}) => kind === 'api_key').map(({id}) => id);
    const keys = new Map((await store.config.listApiKeys(ids)).map(key => [key.id, key]));
    for (const id of ids) {
      const key = keys.get(id);
      if (key) keep(key);
      else forget(id);
    }
  });

  return {
    async findByHash(keyHash) {
      for (;;) {
        const known = byHash.get(keyHash);
        if (known) return known;
        // `mfd bootstrap-key` writes to the database of a running node.
        const seen = changes;
        const stored = await store.config.findApiKey({key_hash: keyHash});
        if (!stored) return undefined;
        // What was revoked or deleted while it was read must not be remembered as it was.
        if (seen !== changes) continue;
        keep(stored);
        return stored;
      }
    },
    findById(keyId) {
      const hash = hashOfId.get(keyId);
      return hash === undefined ? undefined : byHash.get(hash);
    },
    list: () => [...byHash.values()],
    lastUsedAt: keyId => uses.get(keyId) ?? null,
    touch(keyId, at) {
      note(keyId, at.toISOString());
      // Taken out to become the last one, unless it is that: a map from which something is taken all the time is made anew all the time.
      if (usedHere.get(keyId) !== useCount) usedHere.delete(keyId);
      useCount += 1;
      usedHere.set(keyId, useCount);
    },
    receiveUse: note,
    usesAfter(after) {
      if (after >= useCount) return {uses: [], upTo: useCount};
      const fresh: [number, string][] = [];
      for (const [keyId, number] of [...usedHere].reverse()) {
        if (number <= after) break;
        const at = uses.get(keyId);
        if (at !== undefined) fresh.push([keyId, at]);
      }
      return {uses: fresh, upTo: useCount};
    },
    async flush() {
      if (unwritten.size === 0) return;
      const batch = [...unwritten].flatMap(keyId => {
        const at = uses.get(keyId);
        return at === undefined ? [] : [{key_id: keyId, last_used_at: at}];
      });
      unwritten.clear();
      try {
        await store.transaction(async tx => tx.keyUses.record(batch));
      } catch (error) {
        for (const {key_id} of batch) if (uses.has(key_id)) unwritten.add(key_id);
        throw error;
      }
    },
  };
};

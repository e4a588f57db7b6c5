// Latest use of each API key, on this node and on the others. Uses are written to the store in batches.
import type {Store} from '../ports.ts';

export interface KeyUses {
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
export const openKeyUses = async (store: Store, isKnown: (keyId: number) => boolean): Promise<KeyUses> => {
  const latest = new Map<number, string>();
  const unwritten = new Set<number>();
  /** The number of the latest use on this node, by key id, in the order of use. */
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
      // Deleting moves the key to the end of the map. A key that is last already is not deleted, as frequent deletions make V8
      // rebuild the map each time.
      if (usedHere.get(keyId) !== useCount) usedHere.delete(keyId);
      useCount += 1;
      usedHere.set(keyId, useCount);
    },
    receiveUse: record,
    usesAfter(after) {
      if (after >= useCount) return {uses: [], upTo: useCount};
      const fresh: [number, string][] = [];
      for (const [keyId, number] of [...usedHere].reverse()) {
        if (number <= after) break;
        const at = latest.get(keyId);
        if (at !== undefined) fresh.push([keyId, at]);
      }
      return {uses: fresh, upTo: useCount};
    },
    forget(keyId) {
      latest.delete(keyId);
      usedHere.delete(keyId);
      unwritten.delete(keyId);
    },
    async flush() {
      if (unwritten.size === 0) return;
      const batch = [...unwritten].flatMap(keyId => {
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

// Directory of all API keys in memory, by hash, so that a request is authenticated without a query.

import {hash} from 'node:crypto';
import type {Store} from '../../services/ports.ts';
import type {ConfigStore} from '../ports.ts';
import type {StoredApiKey} from '../records.ts';
import {type KeyUses, openKeyUses} from './key-uses.ts';

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

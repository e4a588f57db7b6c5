import type {ApiKey} from '../../../shared/api-key.ts';
import type {Db} from './database.ts';
import {chunksOf, type RecordTable, recordTable} from './rows.ts';

/** A key as stored: never its value, only the hash of it. `domain` is the name the bound domain had when it was bound. */
export type StoredApiKey = Omit<ApiKey, 'last_used_at'> & {key_hash: string; domain_id: number | null};

const keys = recordTable<StoredApiKey>({name: 'api_key', unique: ['key_hash'], toRow: key => ({...key})});

export const apiKeyTable: RecordTable<StoredApiKey> = {
  ...keys,
  async remove(db, ids) {
    await keys.remove(db, ids);
    for (const some of chunksOf(ids)) await db('key_use').whereIn('key_id', some).delete();
  },
};

export const findApiKey = async (db: Db, where: {id: number} | {key_hash: string}): Promise<StoredApiKey | undefined> =>
  db<StoredApiKey>('api_key').where(where).first();

/** Those that are there, in no order. */
export const findApiKeys = async (db: Db, ids: number[]): Promise<StoredApiKey[]> => {
  const found: StoredApiKey[] = [];
  for (const some of chunksOf(ids)) found.push(...(await db<StoredApiKey>('api_key').whereIn('id', some)));
  return found;
};

export const listApiKeys = async (db: Db): Promise<StoredApiKey[]> => db<StoredApiKey>('api_key').orderBy('id');

export const listKeyUses = async (db: Db): Promise<{key_id: number; last_used_at: string}[]> =>
  db('key_use').select('key_id', 'last_used_at');

/** Keeps the later of what is stored and what is told. */
export const recordKeyUses = async (db: Db, uses: {key_id: number; last_used_at: string}[]): Promise<void> => {
  for (const use of uses)
    await db('key_use').insert(use).onConflict('key_id').merge().where('key_use.last_used_at', '<', use.last_used_at);
};

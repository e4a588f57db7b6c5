import type {ApiKey} from '../../shared/api-key.ts';
import type {Db} from './database.ts';

/** A key as stored: never its value, only the hash of it. `domain` is the name the bound domain had when it was bound. */
export type StoredApiKey = Omit<ApiKey, 'last_used_at'> & {key_hash: string; domain_id: number | null};

export const putApiKey = async (db: Db, key: StoredApiKey): Promise<void> => {
  await db<StoredApiKey>('api_key').insert(key).onConflict('id').merge();
};

export const removeApiKey = async (db: Db, id: number): Promise<void> => {
  await db<StoredApiKey>('api_key').where({id}).delete();
  await db('key_use').where({key_id: id}).delete();
};

export const findApiKey = async (db: Db, where: {id: number} | {key_hash: string}): Promise<StoredApiKey | undefined> =>
  db<StoredApiKey>('api_key').where(where).first();

export const listApiKeys = async (db: Db): Promise<StoredApiKey[]> => db<StoredApiKey>('api_key').orderBy('id');

export const listKeyUses = async (db: Db): Promise<{key_id: number; last_used_at: string}[]> =>
  db('key_use').select('key_id', 'last_used_at');

/** Keeps the later of what is stored and what is told. */
export const recordKeyUses = async (db: Db, uses: {key_id: number; last_used_at: string}[]): Promise<void> => {
  for (const use of uses)
    await db('key_use').insert(use).onConflict('key_id').merge().where('key_use.last_used_at', '<', use.last_used_at);
};

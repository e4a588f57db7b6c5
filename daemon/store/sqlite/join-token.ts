// Tokens this node has given out to those who are to join the cluster. What is secret about them was never stored.
import type {Db} from './database.ts';

export interface StoredJoinToken {
  /** Names the token; the client certificate in it says the same. */
  id: string;
  created_at: string;
  expires_at: string;
  used_at: string | null;
}

export const insertJoinToken = async (tx: Db, token: StoredJoinToken): Promise<void> => {
  await tx<StoredJoinToken>('join_token').insert(token);
};

export const findJoinToken = async (db: Db, id: string): Promise<StoredJoinToken | undefined> =>
  db<StoredJoinToken>('join_token').where({id}).first();

/** Of many that come with one token, the UPDATE lets exactly one through. */
export const useJoinToken = async (tx: Db, id: string, at: string): Promise<boolean> =>
  (await tx<StoredJoinToken>('join_token')
    .where({id})
    .whereNull('used_at')
    .where('expires_at', '>', at)
    .update({used_at: at})) === 1;

/** Forgets tokens that ended before `before`. */
export const forgetJoinTokens = async (tx: Db, before: string): Promise<void> => {
  await tx<StoredJoinToken>('join_token').where('expires_at', '<', before).delete();
};

import type {DkimAlgorithm} from '../../shared/dkim-key.ts';
import type {Db} from './database.ts';

export interface StoredDkimKey {
  id: number;
  domain_id: number;
  selector: string;
  algorithm: DkimAlgorithm;
  public_key: string;
  /** PKCS #8. Leaves the store for signing and for nothing else. */
  private_key_pem: string;
  created_at: string;
}

export const putDkimKey = async (db: Db, key: StoredDkimKey): Promise<void> => {
  await db<StoredDkimKey>('dkim_key').insert(key).onConflict('id').merge();
};

export const removeDkimKey = async (db: Db, id: number): Promise<void> => {
  await db<StoredDkimKey>('dkim_key').where({id}).delete();
};

/** The keys of one domain, or of all, oldest first. */
export const listDkimKeys = async (db: Db, domainId?: number): Promise<StoredDkimKey[]> =>
  db<StoredDkimKey>('dkim_key')
    .modify(query => {
      if (domainId !== undefined) void query.where({domain_id: domainId});
    })
    .orderBy('id');

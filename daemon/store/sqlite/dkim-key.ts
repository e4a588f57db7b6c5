import type {DkimAlgorithm} from '../../../shared/dkim-algorithm.ts';
import type {Db} from './database.ts';
import {chunksOf, recordTable} from './rows.ts';

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

export const dkimKeyTable = recordTable<StoredDkimKey>({
  name: 'dkim_key',
  unique: ['domain_id', 'selector'],
  toRow: key => ({...key}),
});

/** The keys of one domain, or of all, oldest first. */
export const listDkimKeys = async (db: Db, domainId?: number): Promise<StoredDkimKey[]> =>
  db<StoredDkimKey>('dkim_key')
    .modify(query => {
      if (domainId !== undefined) void query.where({domain_id: domainId});
    })
    .orderBy('id');

/** The keys of these domains, oldest first. */
export const dkimKeysOf = async (db: Db, domainIds: number[]): Promise<StoredDkimKey[]> => {
  const found: StoredDkimKey[] = [];
  for (const some of chunksOf(domainIds))
    found.push(...(await db<StoredDkimKey>('dkim_key').whereIn('domain_id', some).orderBy('id')));
  return found;
};

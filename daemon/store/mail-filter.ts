import type {MailFilter} from '../../shared/mail-filter.ts';
import type {Db} from './database.ts';

export const putMailFilter = async (db: Db, filter: MailFilter): Promise<void> => {
  await db<MailFilter>('mail_filter').insert(filter).onConflict('id').merge();
};

export const removeMailFilter = async (db: Db, id: number): Promise<void> => {
  await db<MailFilter>('mail_filter').where({id}).delete();
};

/** The filters of one domain, or of all, oldest first. */
export const listMailFilters = async (db: Db, domainId?: number): Promise<MailFilter[]> =>
  db<MailFilter>('mail_filter')
    .modify(query => {
      if (domainId !== undefined) void query.where({domain_id: domainId});
    })
    .orderBy('id');

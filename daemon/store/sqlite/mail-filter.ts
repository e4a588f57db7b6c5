import type {MailFilter} from '../../../shared/mail-filter.ts';
import type {Db} from './database.ts';
import {chunksOf, recordTable} from './rows.ts';

export const mailFilterTable = recordTable<MailFilter>({name: 'mail_filter', toRow: filter => ({...filter})});

/** The filters of one domain, or of all, oldest first. */
export const listMailFilters = async (db: Db, domainId?: number): Promise<MailFilter[]> =>
  db<MailFilter>('mail_filter')
    .modify(query => {
      if (domainId !== undefined) void query.where({domain_id: domainId});
    })
    .orderBy('id');

/** The filters of these domains, oldest first. */
export const mailFiltersOf = async (db: Db, domainIds: number[]): Promise<MailFilter[]> => {
  const found: MailFilter[] = [];
  for (const some of chunksOf(domainIds))
    found.push(...(await db<MailFilter>('mail_filter').whereIn('domain_id', some).orderBy('id')));
  return found;
};

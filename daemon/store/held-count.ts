// Running totals of what is held, so that a count costs the same at ten thousand mails and at a million.

import type {HoldFilter} from '../../shared/hold-filter.ts';
import type {Reason} from '../../shared/reason.ts';
import type {Reach} from '../../shared/scopes.ts';
import type {Db} from './database.ts';

export interface HeldCount {
  domain_id: number;
  domain: string;
  reason: Reason;
  count: number;
  size_bytes: number;
}

type Counted = Pick<HeldCount, 'domain_id' | 'domain' | 'reason' | 'size_bytes'>;

export const adjustCounts = async (tx: Db, {domain_id, domain, reason, size_bytes}: Counted, sign: 1 | -1): Promise<void> => {
  await tx<HeldCount>('held_count')
    .insert({domain_id, domain, reason, count: sign, size_bytes: sign * size_bytes})
    .onConflict(['domain_id', 'domain', 'reason'])
    .merge({
      count: tx.raw('held_count.count + excluded.count') as unknown as number,
      size_bytes: tx.raw('held_count.size_bytes + excluded.size_bytes') as unknown as number,
    });
};

/** Filters that the totals can answer without looking at the mails. */
export const isCounted = (filter: HoldFilter): boolean =>
  Object.entries(filter).every(
    ([name, value]) => value === undefined || name === 'domain' || name === 'reason' || name === 'node',
  );

export const readCounts = async (db: Db, filter: HoldFilter, reach: Reach): Promise<HeldCount[]> =>
  db<HeldCount>('held_count')
    .where('count', '>', 0)
    .modify(query => {
      if (filter.domain !== undefined) void query.where({domain: filter.domain});
      if (filter.reason !== undefined) void query.where({reason: filter.reason});
      if (reach.kind !== 'all') void query.where({domain_id: reach.kind === 'domain' ? reach.domainId : -1});
    })
    .orderBy(['domain', 'reason', 'domain_id']);

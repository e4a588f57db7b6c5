// Running totals of what is held, so that a count costs the same at ten thousand mails and at a million.

import type {HoldFilter} from '../../../shared/hold-filter.ts';
import type {AccessScope} from '../../../shared/scopes.ts';
import type {HeldCount} from '../../services/quarantine/stored-mail.ts';
import type {Db} from './database.ts';
import {query} from './query.ts';

type Counted = Pick<HeldCount, 'domain_id' | 'domain' | 'reason' | 'size_bytes'>;

export const adjustCounts = async (tx: Db, mail: Counted, sign: 1 | -1): Promise<void> =>
  adjustSums(tx, [{...mail, count: sign, size_bytes: sign * mail.size_bytes}]);

const adding = `
INSERT INTO held_count (domain_id, domain, reason, count, size_bytes)
SELECT ${['domain_id', 'domain', 'reason', 'count', 'size_bytes'].map(name => `value->>'$.${name}'`).join(', ')} FROM json_each(?) WHERE true
ON CONFLICT (domain_id, domain, reason)
DO UPDATE SET count = held_count.count + excluded.count, size_bytes = held_count.size_bytes + excluded.size_bytes`;

/** Many changes at once: of many mails few have a domain and a reason of their own. */
export const adjustSums = async (tx: Db, changes: readonly HeldCount[]): Promise<void> => {
  await query(tx, adding, [JSON.stringify(sumsOf(changes))]);
};

const sumsOf = (changes: readonly HeldCount[]): HeldCount[] => {
  const sums = new Map<string, HeldCount>();
  for (const {domain_id, domain, reason, count, size_bytes} of changes) {
    const pair = JSON.stringify([domain_id, domain, reason]);
    const sum = sums.get(pair) ?? {domain_id, domain, reason, count: 0, size_bytes: 0};
    sums.set(pair, {...sum, count: sum.count + count, size_bytes: sum.size_bytes + size_bytes});
  }
  return [...sums.values()];
};

/** Works the totals out anew, for rows that were changed without them. */
export const recountHeld = async (tx: Db): Promise<void> => {
  await tx('held_count').delete();
  await tx.raw(`INSERT INTO held_count (domain_id, domain, reason, count, size_bytes)
    SELECT domain_id, domain, reason, count(*), sum(size_bytes) FROM held_mail WHERE is_held GROUP BY domain_id, domain, reason`);
};

/** Filters that the totals can answer without looking at the mails. */
export const isCounted = (filter: HoldFilter): boolean =>
  Object.entries(filter).every(
    ([name, value]) => value === undefined || name === 'domain' || name === 'reason' || name === 'node',
  );

export const readCounts = async (db: Db): Promise<HeldCount[]> =>
  db<HeldCount>('held_count').where('count', '>', 0).orderBy(['domain', 'reason', 'domain_id']);

/** The sum of the totals as a query. */
export const totalOf = ({domain, reason}: HoldFilter, reach: AccessScope): {sql: string; bindings: (string | number)[]} => {
  const wanted = Object.entries({
    domain,
    reason,
    domain_id: reach.kind === 'domain' ? reach.domainId : reach.kind === 'none' ? -1 : undefined,
  });
  const given = wanted.flatMap(([column, value]) => (value === undefined ? [] : [{sql: ` AND ${column} = ?`, value}]));
  return {
    sql: `SELECT coalesce(sum(count), 0) AS total FROM held_count WHERE count > 0${given.map(({sql}) => sql).join('')}`,
    bindings: given.map(({value}) => value),
  };
};

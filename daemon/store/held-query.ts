// Reading the hold queue: filters to SQL. Every filter has an index over what is still held (see migrations).
import type {Knex} from 'knex';
import type {HeldMail, SymbolScore} from '../../shared/held-mail.ts';
import type {HoldFilter, Page} from '../../shared/hold-filter.ts';
import type {Reason} from '../../shared/reason.ts';
import type {Reach} from '../../shared/scopes.ts';
import type {Db} from './database.ts';
import {isCounted, readCounts} from './held-count.ts';
import {foldSubject, type HeldMailRow} from './held-mail.ts';

/** Newest first, then by queue id. `total` counts all matches. */
export const listHeld = async (
  db: Db,
  filter: HoldFilter,
  reach: Reach,
  page: Page,
): Promise<{mails: Omit<HeldMail, 'node_id'>[]; total: number}> => {
  const [rows, total] = await Promise.all([
    db<HeldMailRow>('held_mail')
      .modify(matching, filter, reach)
      .select('queue_id', 'sender', 'recipients', 'subject', 'score', 'symbols', 'reason', 'size_bytes', 'arrived_at')
      .orderBy([{column: 'arrived_at', order: 'desc'}, {column: 'queue_id'}])
      .limit(page.limit)
      .offset(page.offset),
    countHeld(db, filter, reach),
  ]);
  return {mails: rows.map(toListEntry), total};
};

type Place = Pick<HeldMail, 'arrived_at' | 'queue_id'>;

/** The places of every `stride`-th match after the first `offset`, `limit` of them, from the index. `total` counts all matches. */
export const markHeld = async (
  db: Db,
  filter: HoldFilter,
  reach: Reach,
  {offset, stride, limit}: Page & {stride: number},
): Promise<{marks: Place[]; total: number}> => {
  // Cut off before they are numbered: a window is computed over all that it is given.
  const inOrder = db<HeldMailRow>('held_mail')
    .modify(matching, filter, reach)
    .select('arrived_at', 'queue_id')
    .orderBy([{column: 'arrived_at', order: 'desc'}, {column: 'queue_id'}])
    .limit(stride * limit)
    .offset(offset);
  const numbered = db
    .from(inOrder.as('part'))
    .select('arrived_at', 'queue_id', db.raw('row_number() OVER (ORDER BY arrived_at DESC, queue_id) AS position'));
  const [marks, total] = await Promise.all([
    db
      .from(numbered.as('numbered'))
      .select<Place[]>('arrived_at', 'queue_id')
      .whereRaw('position % ? = 0', [stride])
      .orderBy('position'),
    countHeld(db, filter, reach),
  ]);
  return {marks, total};
};

/** How many matches come before a place: all that arrived later, and `among` those that arrived at the same time. */
export const rankHeld = async (
  db: Db,
  filter: HoldFilter,
  reach: Reach,
  {arrived_at, among}: {arrived_at: string; among: 'all' | 'none' | {before: string}},
): Promise<number> => {
  const row = await db<HeldMailRow>('held_mail')
    .modify(matching, filter, reach)
    .where('arrived_at', among === 'none' ? '>' : '>=', arrived_at)
    .modify(query => {
      if (typeof among === 'object')
        void query.where(inner => inner.where('arrived_at', '>', arrived_at).orWhere('queue_id', '<', among.before));
    })
    .count({count: '*'})
    .first();
  return Number((row as {count: number | string} | undefined)?.count ?? 0);
};

export interface HeldGroup {
  domain: string;
  reason: Reason;
  count: number;
  size_bytes: number;
  oldest_arrived_at: string;
}

export const groupHeld = async (db: Db, filter: HoldFilter, reach: Reach): Promise<HeldGroup[]> => {
  const rows = await db<HeldMailRow>('held_mail')
    .modify(matching, filter, reach)
    .groupBy('domain', 'reason')
    .orderBy(['domain', 'reason'])
    .select('domain', 'reason')
    .count({count: '*'})
    .sum({size_bytes: 'size_bytes'})
    .min({oldest_arrived_at: 'arrived_at'});
  return (rows as unknown as HeldGroup[]).map(row => ({...row, count: Number(row.count), size_bytes: Number(row.size_bytes)}));
};

const countHeld = async (db: Db, filter: HoldFilter, reach: Reach): Promise<number> => {
  if (isCounted(filter)) return (await readCounts(db, filter, reach)).reduce((sum, {count}) => sum + Number(count), 0);
  const row = await db<HeldMailRow>('held_mail').modify(matching, filter, reach).count({count: '*'}).first();
  return Number((row as {count: number | string} | undefined)?.count ?? 0);
};

/** `is_held` is written out, never bound: a partial index is used only when the query says its condition. */
const matching = (query: Knex.QueryBuilder, filter: HoldFilter, reach: Reach): void => {
  void query.whereRaw('is_held');
  if (reach.kind !== 'all') void query.where('domain_id', reach.kind === 'domain' ? reach.domainId : -1);
  if (filter.domain !== undefined) void query.where('domain', filter.domain);
  if (filter.reason !== undefined) void query.where('reason', filter.reason);
  if (filter.sender !== undefined)
    void query.where(filter.sender === '' || filter.sender.includes('@') ? 'folded_sender' : 'sender_domain', filter.sender);
  if (filter.since !== undefined) void query.where('arrived_at', '>=', filter.since);
  if (filter.until !== undefined) void query.where('arrived_at', '<', filter.until);
  if (filter.min_score !== undefined) void query.where('score', '>=', filter.min_score);
  if (filter.max_score !== undefined) void query.where('score', '<=', filter.max_score);
  if (filter.recipient !== undefined)
    void query.whereIn('queue_id', inner => inner.from('held_recipient').where('recipient', filter.recipient).select('queue_id'));
  if (filter.subject !== undefined)
    void query.whereRaw("folded_subject LIKE ? ESCAPE '\\'", [`%${escapeLike(foldSubject(filter.subject))}%`]);
};

const escapeLike = (text: string): string => text.replace(/[\\%_]/g, '\\$&');

const toListEntry = (row: Pick<HeldMailRow, Exclude<keyof HeldMail, 'node_id'>>): Omit<HeldMail, 'node_id'> => ({
  queue_id: row.queue_id,
  sender: row.sender,
  recipients: JSON.parse(row.recipients) as string[],
  subject: row.subject,
  score: row.score,
  symbols: (JSON.parse(row.symbols) as SymbolScore[]).map(({name}) => name),
  reason: row.reason,
  size_bytes: Number(row.size_bytes),
  arrived_at: row.arrived_at,
});

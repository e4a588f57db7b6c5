// Which held mails are asked for, in SQL. Every filter has an index over what is still held (see migrations).
import type {Knex} from 'knex';
import type {HoldFilter} from '../../shared/hold-filter.ts';
import type {Reach} from '../../shared/scopes.ts';
import type {Db} from './database.ts';
import {foldSubject, type HeldMailRow} from './held-mail.ts';

export interface HeldSearch {
  filter: HoldFilter;
  reach: Reach;
  /** Where few subjects have what is looked for in them: the queue ids of those that may, as a JSON array. */
  candidates?: string;
  /** Narrower still, beyond what can be asked for: score strictly between. */
  aboveScore?: number;
  belowScore?: number;
}

/** With more of them the list itself comes upon enough. */
const fewCandidates = 1500;
const maxTrigrams = 12;

export const searchFor = async (db: Db, filter: HoldFilter, reach: Reach): Promise<HeldSearch> => {
  const trigrams = filter.subject === undefined ? [] : trigramsOf(foldSubject(filter.subject));
  if (trigrams.length === 0) return {filter, reach};
  const rows = await db
    .with('found', inner =>
      inner
        .from('held_trigram')
        .select('rowid')
        .whereRaw('held_trigram MATCH ?', [trigrams.join(' AND ')])
        .limit(fewCandidates + 1),
    )
    .from('held_subject')
    .whereIn('id', inner => inner.from('found').select('rowid'))
    .select<{ids: string; count: number}[]>(db.raw('json_group_array(queue_id) AS ids'), db.raw('count(*) AS count'));
  const [found] = rows;
  return found && found.count <= fewCandidates ? {filter, reach, candidates: found.ids} : {filter, reach};
};

/** Some of every three characters in a row, quoted for FTS5; none of a text that is too short, or that it would not take whole. */
const trigramsOf = (folded: string): string[] => {
  const characters = [...folded];
  if (folded.includes('\0')) return [];
  const all = new Set(characters.slice(2).map((_, at) => characters.slice(at, at + 3).join('')));
  const step = Math.ceil(all.size / maxTrigrams);
  return [...all].filter((_, at) => at % step === 0).map(trigram => `"${trigram.replaceAll('"', '""')}"`);
};

/** `is_held` is written out, never bound: a partial index is used only when the query says its condition. */
export const matching = (query: Knex.QueryBuilder, search: HeldSearch): void => {
  void query.whereRaw('is_held').modify(resembling, search);
};

/** The same of mails whether they are held or not. */
export const resembling = (query: Knex.QueryBuilder, {filter, reach, ...narrower}: HeldSearch): void => {
  if (reach.kind !== 'all') void query.where('domain_id', reach.kind === 'domain' ? reach.domainId : -1);
  if (filter.domain !== undefined) void query.where('domain', filter.domain);
  if (filter.reason !== undefined) void query.where('reason', filter.reason);
  if (filter.sender !== undefined)
    void query.where(filter.sender === '' || filter.sender.includes('@') ? 'folded_sender' : 'sender_domain', filter.sender);
  if (filter.since !== undefined) void query.where('arrived_at', '>=', filter.since);
  if (filter.until !== undefined) void query.where('arrived_at', '<', filter.until);
  if (filter.min_score !== undefined) void query.where('score', '>=', filter.min_score);
  if (filter.max_score !== undefined) void query.where('score', '<=', filter.max_score);
  if (narrower.aboveScore !== undefined) void query.where('score', '>', narrower.aboveScore);
  if (narrower.belowScore !== undefined) void query.where('score', '<', narrower.belowScore);
  if (filter.recipient !== undefined)
    void query.whereIn('held_mail.queue_id', inner =>
      inner.from('held_recipient').where('recipient', filter.recipient).select('queue_id'),
    );
  if (narrower.candidates !== undefined)
    void query.whereRaw('held_mail.queue_id IN (SELECT value FROM json_each(?))', [narrower.candidates]);
  if (filter.subject !== undefined)
    void query.whereRaw("folded_subject LIKE ? ESCAPE '\\'", [`%${escapeLike(foldSubject(filter.subject))}%`]);
};

const escapeLike = (text: string): string => text.replace(/[\\%_]/g, '\\$&');

export const countMatching = async (db: Db, search: HeldSearch): Promise<number> => {
  const row = await db<HeldMailRow>('held_mail').modify(matching, search).count({count: '*'}).first();
  return Number((row as {count: number | string} | undefined)?.count ?? 0);
};

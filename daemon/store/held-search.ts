// Which held mails are asked for, in SQL. Every filter has an index over what is still held (see migrations).
import type {Knex} from 'knex';
import type {HoldFilter} from '../../shared/hold-filter.ts';
import type {Reach} from '../../shared/scopes.ts';
import type {Db} from './database.ts';
import {foldSubject, type HeldMailRow} from './held-mail.ts';

export interface HeldSearch {
  filter: HoldFilter;
  reach: Reach;
  /** Where few mails have that subject, or that recipient: the queue ids of those that may, as a JSON array. */
  candidates?: string;
  /** Newest first until there are enough: what matches is not gathered before, as it may be much. */
  isWalked?: boolean;
  /** Narrower still, beyond what can be asked for: score strictly between. */
  aboveScore?: number;
  belowScore?: number;
}

/** With more of them the list itself comes upon enough. */
const fewCandidates = 1500;
const maxTrigrams = 12;

export const searchFor = async (db: Db, filter: HoldFilter, reach: Reach): Promise<HeldSearch> => {
  const candidates = (await withRecipient(db, filter)) ?? (await withSubject(db, filter));
  return candidates === undefined ? {filter, reach} : {filter, reach, candidates};
};

interface Found {
  ids: string;
  count: number;
}

const fewOf = ([found]: Found[]): string | undefined => (found && found.count <= fewCandidates ? found.ids : undefined);

const withRecipient = async (db: Db, {recipient}: HoldFilter): Promise<string | undefined> => {
  if (recipient === undefined) return undefined;
  const some = db
    .from('held_recipient')
    .where({recipient})
    .select('queue_id')
    .limit(fewCandidates + 1);
  return fewOf(
    await db.from(some.as('some')).select<Found[]>(db.raw('json_group_array(queue_id) AS ids'), db.raw('count(*) AS count')),
  );
};

const withSubject = async (db: Db, {subject}: HoldFilter): Promise<string | undefined> => {
  if (subject === undefined) return undefined;
  const folded = foldSubject(subject);
  const trigrams = trigramsOf(folded);
  if (trigrams.length === 0) return undefined;
  const rows = await db
    .with('found', inner =>
      inner
        .from('held_trigram')
        .select('rowid')
        .whereRaw('held_trigram MATCH ?', [trigrams.join(' AND ')])
        .limit(fewCandidates + 1),
    )
    .with('some', inner =>
      inner
        .from('held_subject')
        .whereIn('id', found => found.from('found').select('rowid'))
        .select('queue_id')
        .unionAll(late =>
          late
            .from('held_subject')
            .where('id', '>', db('held_trigram_end').select('upto'))
            .whereRaw(containsSql, [containing(folded)])
            .select('queue_id'),
        ),
    )
    .from('some')
    .select<Found[]>(db.raw('json_group_array(queue_id) AS ids'), db.raw('count(*) AS count'));
  return fewOf(rows);
};

/** Some of every three characters in a row, quoted for FTS5; none of a text that is too short, or that it would not take whole. */
const trigramsOf = (folded: string): string[] => {
  const characters = [...folded];
  if (folded.includes('\0')) return [];
  const all = new Set(characters.slice(2).map((_, at) => characters.slice(at, at + 3).join('')));
  const step = Math.ceil(all.size / maxTrigrams);
  return [...all].filter((_, at) => at % step === 0).map(trigram => `"${trigram.replaceAll('"', '""')}"`);
};

export interface Condition {
  sql: string;
  bindings: (string | number)[];
}

/** `is_held` is written out, never bound: a partial index is used only when the query says its condition. */
export const heldCondition = (search: HeldSearch): Condition => {
  const {sql, bindings} = conditionOf(search);
  return {sql: `is_held AND ${sql}`, bindings};
};

export const matching = (query: Knex.QueryBuilder, search: HeldSearch): void => {
  const {sql, bindings} = heldCondition(search);
  void query.whereRaw(sql, bindings);
};

/** The same of mails whether they are held or not. */
export const resembling = (query: Knex.QueryBuilder, search: HeldSearch): void => {
  const {sql, bindings} = conditionOf(search);
  void query.whereRaw(sql, bindings);
};

const conditionOf = ({filter, reach, ...narrower}: HeldSearch): Condition => {
  const parts: string[] = [];
  const bindings: Condition['bindings'] = [];
  const add = (sql: string, value: string | number | undefined) => {
    if (value === undefined) return;
    parts.push(sql);
    bindings.push(value);
  };
  if (reach.kind !== 'all') add('domain_id = ?', reach.kind === 'domain' ? reach.domainId : -1);
  add('domain = ?', filter.domain);
  add('reason = ?', filter.reason);
  add(filter.sender === '' || filter.sender?.includes('@') ? 'folded_sender = ?' : 'sender_domain = ?', filter.sender);
  add('arrived_at >= ?', filter.since);
  add('arrived_at < ?', filter.until);
  add('score >= ?', filter.min_score);
  add('score <= ?', filter.max_score);
  add('score > ?', narrower.aboveScore);
  add('score < ?', narrower.belowScore);
  add(
    narrower.isWalked
      ? '(SELECT true FROM held_recipient AS r WHERE r.recipient = ? AND r.queue_id = held_mail.queue_id)'
      : 'held_mail.queue_id IN (SELECT queue_id FROM held_recipient WHERE recipient = ?)',
    filter.recipient,
  );
  add('held_mail.queue_id IN (SELECT value FROM json_each(?))', narrower.candidates);
  // Of all that is held: without a place to begin at, SQLite walks an index that has not the subject in it, and reads every row.
  if (filter.subject !== undefined && filter.since === undefined) add('arrived_at >= ?', '');
  if (filter.subject !== undefined) add(containsSql, containing(foldSubject(filter.subject)));
  return {sql: parts.length === 0 ? '1' : parts.join(' AND '), bindings};
};

const containsSql = "folded_subject LIKE ? ESCAPE '!'";
const containing = (folded: string): string => `%${folded.replace(/[!%_]/g, '!$&')}%`;

export const countMatching = async (db: Db, search: HeldSearch): Promise<number> => {
  const row = await db<HeldMailRow>('held_mail').modify(matching, search).count({count: '*'}).first();
  return Number((row as {count: number | string} | undefined)?.count ?? 0);
};

// Which held mails are asked for, in SQL. Every filter has an index over what is still held (see migrations).
import type {HoldFilter} from '../../../shared/hold-filter.ts';
import type {AccessScope} from '../../../shared/scopes.ts';
import type {Db} from './database.ts';
import {foldSubject} from './held-mail.ts';
import {query} from './query.ts';

export interface HeldSearch {
  filter: HoldFilter;
  reach: AccessScope;
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
/** Each is a list to go through: few are asked for first, and more where those leave too many. */
const trigramCounts = [3, 12];

export interface HeldSearches {
  of(filter: HoldFilter, reach: AccessScope): Promise<HeldSearch>;
  /**
   * What `columns` say of all mails with a subject, which are in a table `matching` (`queue_id`, `arrived_at`). Undefined where
   * many may have it.
   */
  amongFew<Row>(subject: string, columns: Condition): Promise<Row | undefined>;
}

/** How long a recipient or a subject that many mails had is not looked for again: whoever turns pages has the same all the time. */
const manyForMs = 60_000;
const maxKnown = 1000;

export const createHeldSearches = (read: Db): HeldSearches => {
  /** By what is looked for, until when. */
  const many = new Map<string, number>();
  const unlessMany = async <Found>(key: string, find: () => Promise<Found | undefined>): Promise<Found | undefined> => {
    if (performance.now() < (many.get(key) ?? 0)) return undefined;
    many.delete(key);
    const found = await find();
    if (found !== undefined) return found;
    if (many.size >= maxKnown) many.clear();
    many.set(key, performance.now() + manyForMs);
    return undefined;
  };
  const amongFew: HeldSearches['amongFew'] = async (subject, columns) =>
    unlessMany(`subject ${subject}`, async () => withSubject(read, subject, columns));

  return {
    amongFew,
    async of(filter, reach) {
      const {recipient, subject} = filter;
      const byRecipient =
        recipient !== undefined && (await unlessMany(`recipient ${recipient}`, async () => withRecipient(read, recipient)));
      const found = byRecipient || (subject !== undefined && (await amongFew<Ids>(subject, allIds)));
      return found ? {filter, reach, candidates: found.ids} : {filter, reach};
    },
  };
};

/** Whether nothing is asked for but a subject. */
export const onlySubjectOf = (filter: HoldFilter, reach: AccessScope): string | undefined => {
  const others = Object.entries(filter).filter(([name, value]) => value !== undefined && name !== 'subject' && name !== 'node');
  return reach.kind === 'all' && others.length === 0 ? filter.subject : undefined;
};

const few = `<= ${fewCandidates}`;
const enough = `LIMIT ${fewCandidates + 1}`;

interface Ids {
  ids: string;
}

/** No row where there are too many. */
const recipientSql = `
  WITH some AS MATERIALIZED (SELECT queue_id FROM held_recipient WHERE recipient = ? ${enough})
  SELECT (SELECT json_group_array(queue_id) FROM some) AS ids WHERE (SELECT count(*) FROM some) ${few}`;

const withRecipient = async (read: Db, recipient: string): Promise<Ids | undefined> => {
  const [found] = await query<Ids>(read, recipientSql, [recipient]);
  return found;
};

const containsSql = "folded_subject LIKE ? ESCAPE '!'";
const containing = (folded: string): string => `%${folded.replace(/[!%_]/g, '!$&')}%`;

/** The same. */
const ofFewSql = (columns: string): string => `
  WITH found AS MATERIALIZED (SELECT rowid AS id FROM held_trigram WHERE held_trigram MATCH ? ${enough}),
  late AS MATERIALIZED (
    SELECT queue_id, arrived_at FROM held_subject
    WHERE id > (SELECT upto FROM held_trigram_end) AND ${containsSql} ${enough}
  ),
  matching AS MATERIALIZED (
    SELECT queue_id, arrived_at FROM held_subject WHERE id IN (SELECT id FROM found) AND ${containsSql}
    UNION ALL SELECT queue_id, arrived_at FROM late
  )
  SELECT ${columns} WHERE (SELECT count(*) FROM found) + (SELECT count(*) FROM late) ${few}`;

const allIds: Condition = {sql: '(SELECT json_group_array(queue_id) FROM matching) AS ids', bindings: []};

const withSubject = async <Row>(read: Db, subject: string, columns: Condition): Promise<Row | undefined> => {
  const folded = foldSubject(subject);
  const all = trigramsOf(folded);
  if (all.length === 0) return undefined;
  const contained = containing(folded);
  for (const most of trigramCounts) {
    const some = spreadOver(all, most);
    const bindings = [some.join(' AND '), contained, contained, ...columns.bindings];
    const [row] = await query<Row>(read, ofFewSql(columns.sql), bindings);
    if (row !== undefined || some.length === all.length) return row;
  }
  return undefined;
};

/** Every three characters in a row, quoted for FTS5; none of a text that is too short, or that it would not take whole. */
const trigramsOf = (folded: string): string[] => {
  const characters = [...folded];
  if (folded.includes('\0')) return [];
  const all = new Set(characters.slice(2).map((_, at) => characters.slice(at, at + 3).join('')));
  return [...all].map(trigram => `"${trigram.replaceAll('"', '""')}"`);
};

const spreadOver = <T>(all: readonly T[], most: number): T[] => {
  const step = Math.ceil(all.length / most);
  return all.filter((_, at) => at % step === 0);
};

export interface Condition {
  sql: string;
  bindings: (string | number)[];
}

/** `is_held` is written out, never bound: a partial index is used only when the query says its condition. */
export const heldCondition = (search: HeldSearch): Condition => {
  const {sql, bindings} = likenessTo(search);
  return {sql: `is_held AND ${sql}`, bindings};
};

/** The same of mails whether they are held or not. */
export const likenessTo = ({filter, reach, ...narrower}: HeldSearch): Condition => {
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

export const countMatching = async (read: Db, search: HeldSearch): Promise<number> => {
  const {sql, bindings} = heldCondition(search);
  const [row] = await query<{count: number}>(read, `SELECT count(*) AS count FROM held_mail WHERE ${sql}`, bindings);
  return row?.count ?? 0;
};

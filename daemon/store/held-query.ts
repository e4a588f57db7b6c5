// Reading the hold queue.
import type {HeldMail} from '../../shared/held-mail.ts';
import type {HoldFilter, Page} from '../../shared/hold-filter.ts';
import type {Reason} from '../../shared/reason.ts';
import type {Reach} from '../../shared/scopes.ts';
import type {Database, Db} from './database.ts';
import {isCounted, totalOf} from './held-count.ts';
import type {HeldMailRow} from './held-mail.ts';
import {type Condition, type HeldSearch, heldCondition, matching, searchFor} from './held-search.ts';
import {createHeldTotals} from './held-total.ts';

export interface HeldQuery {
  /** Newest first, then by queue id. `total` counts all matches. */
  list(filter: HoldFilter, reach: Reach, page: Page): Promise<ListedPage>;
  /** The places of every `stride`-th match after the first `offset`, `limit` of them. `total` counts all matches. */
  marks(filter: HoldFilter, reach: Reach, steps: Page & {stride: number}): Promise<{marks: Place[]; total: number}>;
  /** How many matches come before a place: all that arrived later, and `among` those that arrived at the same time. */
  rank(filter: HoldFilter, reach: Reach, place: RankedPlace): Promise<number>;
  groups(filter: HoldFilter, reach: Reach): Promise<HeldGroup[]>;
}

export interface ListedPage {
  /** A JSON array of `HeldMail`, as the database has written it: made there it costs a third. */
  mails: string;
  total: number;
}

type Place = Pick<HeldMail, 'arrived_at' | 'queue_id'>;

export interface RankedPlace {
  arrived_at: string;
  among: 'all' | 'none' | {before: string};
}

export interface HeldGroup {
  domain: string;
  reason: Reason;
  count: number;
  size_bytes: number;
  oldest_arrived_at: string;
}

/** `nodeId` is the node of all mails here. */
export const createHeldQuery = ({read: db, prepared}: Pick<Database, 'read' | 'prepared'>, nodeId: string): HeldQuery => {
  const totals = createHeldTotals(db);

  return {
    async list(filter, reach, page) {
      const search = await searchFor(db, filter, reach);
      const mails = pageOf(nodeId, walked(search), page);
      const counted = isCounted(filter) ? totalOf(filter, reach) : {sql: 'SELECT NULL', bindings: []};
      const [[row], total] = await Promise.all([
        prepared.read.all<{mails: string; total: number | null}>(
          {sql: `SELECT (${mails.sql}) AS mails, (${counted.sql}) AS total`},
          [...mails.bindings, ...counted.bindings],
        ),
        isCounted(filter) ? undefined : totals.of(search),
      ]);
      return {mails: row?.mails ?? '[]', total: total ?? Number(row?.total ?? 0)};
    },

    async marks(filter, reach, steps) {
      const search = await searchFor(db, filter, reach);
      const [marks, total] = await Promise.all([readMarks(db, walked(search), steps), totals.of(search)]);
      return {marks, total};
    },

    async rank(filter, reach, {arrived_at, among}) {
      const search = await searchFor(db, filter, reach);
      const later = totals.of(narrowedTo(search, {since: among === 'all' ? arrived_at : justAfter(arrived_at)}));
      if (typeof among !== 'object') return later;
      const same = db<HeldMailRow>('held_mail')
        .modify(matching, search)
        .where({arrived_at})
        .where('queue_id', '<', among.before)
        .count<{count: number | string}[]>({count: '*'});
      return (await later) + Number((await same)[0]?.count ?? 0);
    },

    groups: async (filter, reach) => readGroups(db, await searchFor(db, filter, reach)),
  };
};

const walked = (search: HeldSearch): HeldSearch => ({...search, isWalked: search.candidates === undefined});

const narrowedTo = (search: HeldSearch, {since}: {since: string}): HeldSearch => ({
  ...search,
  filter: {
    ...search.filter,
    since: search.filter.since !== undefined && search.filter.since > since ? search.filter.since : since,
  },
});

/** Times are kept to the millisecond. */
const justAfter = (time: string): string => new Date(Date.parse(time) + 1).toISOString();

const inOrder = [{column: 'arrived_at', order: 'desc' as const}, {column: 'queue_id'}];

/** Written out: compiling it anew for each page took longer than reading the page. */
const pageOf = (nodeId: string, search: HeldSearch, {limit, offset}: Page): Condition => {
  const {sql, bindings} = heldCondition(search);
  return {
    sql: `SELECT json_group_array(json(entry)) FROM (
      SELECT json_object('node_id', ?, 'queue_id', queue_id, 'sender', sender, 'recipients', json(recipients), 'subject', subject,
        'score', iif(score = round(score), CAST(score AS INTEGER), score), 'symbols', (SELECT json_group_array(value ->> 'name') FROM json_each(symbols)), 'reason', reason,
        'size_bytes', size_bytes, 'arrived_at', arrived_at) AS entry
      FROM held_mail WHERE ${sql} ORDER BY arrived_at DESC, queue_id LIMIT ? OFFSET ?)`,
    bindings: [nodeId, ...bindings, limit, offset],
  };
};

/** From the index alone. */
const readMarks = async (db: Db, search: HeldSearch, {offset, stride, limit}: Page & {stride: number}): Promise<Place[]> => {
  // Cut off before they are numbered: a window is computed over all that it is given.
  const part = db<HeldMailRow>('held_mail')
    .modify(matching, search)
    .select('arrived_at', 'queue_id')
    .orderBy(inOrder)
    .limit(stride * limit)
    .offset(offset);
  const numbered = db
    .from(part.as('part'))
    .select('arrived_at', 'queue_id', db.raw('row_number() OVER (ORDER BY arrived_at DESC, queue_id) AS position'));
  return db
    .from(numbered.as('numbered'))
    .select<Place[]>('arrived_at', 'queue_id')
    .whereRaw('position % ? = 0', [stride])
    .orderBy('position');
};

const readGroups = async (db: Db, search: HeldSearch): Promise<HeldGroup[]> => {
  const rows = await db<HeldMailRow>('held_mail')
    .modify(matching, search)
    .groupBy('domain', 'reason')
    .orderBy(['domain', 'reason'])
    .select('domain', 'reason')
    .count({count: '*'})
    .sum({size_bytes: 'size_bytes'})
    .min({oldest_arrived_at: 'arrived_at'});
  return (rows as unknown as HeldGroup[]).map(row => ({...row, count: Number(row.count), size_bytes: Number(row.size_bytes)}));
};

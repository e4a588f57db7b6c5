// Reading the hold queue.
import type {HeldMail} from '../../../shared/held-mail.ts';
import type {HoldFilter, Page} from '../../../shared/hold-filter.ts';
import type {Reason} from '../../../shared/reason.ts';
import type {Reach} from '../../../shared/scopes.ts';
import type {Database, Db} from './database.ts';
import {isCounted, totalOf} from './held-count.ts';
import {type Condition, createHeldSearches, type HeldSearch, heldCondition, onlySubjectOf} from './held-search.ts';
import {createHeldTotals} from './held-total.ts';
import {query} from './query.ts';

export interface HeldQuery {
  /** Newest first, then by queue id. `total` counts all matches. */
  list(filter: HoldFilter, reach: Reach, page: Page): Promise<{mails: HeldMail[]; total: number}>;
  /** The cursors of every `stride`-th match after the first `offset`, `limit` of them. `total` counts all matches. */
  samples(filter: HoldFilter, reach: Reach, steps: Page & {stride: number}): Promise<{marks: Cursor[]; total: number}>;
  /** How many matches come before a cursor: all that arrived later, and `among` those that arrived at the same time. */
  positionOf(filter: HoldFilter, reach: Reach, cursor: CursorAmong): Promise<number>;
  groups(filter: HoldFilter, reach: Reach): Promise<HeldGroup[]>;
}

type Cursor = Pick<HeldMail, 'arrived_at' | 'queue_id'>;

export interface CursorAmong {
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
export const createHeldQuery = ({read}: Pick<Database, 'read'>, nodeId: string): HeldQuery => {
  const totals = createHeldTotals(read);
  const searches = createHeldSearches(read);

  return {
    async list(filter, reach, page) {
      const subject = onlySubjectOf(filter, reach);
      const listed = subject !== undefined && (await searches.amongFew<PageRow>(subject, pageOfMatching(nodeId, page)));
      if (listed) return listedIn(listed);
      const search = await searches.of(filter, reach);
      if (isCounted(filter)) return pageAnd(read, pageOf(nodeId, search, page), totalOf(filter, reach));
      if (search.candidates !== undefined) return pageAnd(read, pageOfFew(nodeId, search, page), foundCount);
      const [{mails}, total] = await Promise.all([
        pageAnd(read, pageOf(nodeId, {...search, isWalked: true}, page), noCount),
        totals.of(search),
      ]);
      return {mails, total};
    },

    async samples(filter, reach, steps) {
      const search = await searches.of(filter, reach);
      const [marks, total] = await Promise.all([readSamples(read, walked(search), steps), totals.of(search)]);
      return {marks, total};
    },

    async positionOf(filter, reach, {arrived_at, among}) {
      const search = await searches.of(filter, reach);
      const later = totals.of(narrowedTo(search, {since: among === 'all' ? arrived_at : justAfter(arrived_at)}));
      if (typeof among !== 'object') return later;
      const {sql, bindings} = heldCondition(search);
      const same = query<{count: number}>(
        read,
        `SELECT count(*) AS count FROM held_mail WHERE ${sql} AND arrived_at = ? AND queue_id < ?`,
        [...bindings, arrived_at, among.before],
      );
      return (await later) + ((await same)[0]?.count ?? 0);
    },

    groups: async (filter, reach) => readGroups(read, await searches.of(filter, reach)),
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

/** A list as its node's JSON, in the order of lists. `source` says which rows. */
const entriesOf = (source: string): string => `
  SELECT json_group_array(json(entry)) FROM (
    SELECT json_object('node_id', ?, 'queue_id', queue_id, 'sender', sender, 'recipients', json(recipients), 'subject', subject,
      'score', score, 'symbols', (SELECT json_group_array(value ->> 'name') FROM json_each(symbols)), 'reason', reason,
      'size_bytes', size_bytes, 'arrived_at', arrived_at) AS entry
    FROM held_mail WHERE ${source})`;

interface PageQuery extends Condition {
  /** What comes before the query. */
  found?: Condition;
}

const pageOf = (nodeId: string, search: HeldSearch, {limit, offset}: Page): PageQuery => {
  const {sql, bindings} = heldCondition(search);
  return {
    sql: entriesOf(`${sql} ORDER BY arrived_at DESC, queue_id LIMIT ? OFFSET ?`),
    bindings: [nodeId, ...bindings, limit, offset],
  };
};

/** Only what is in the page is looked up. */
const pageOfMatching = (nodeId: string, {limit, offset}: Page): Condition => {
  const order = 'ORDER BY arrived_at DESC, queue_id';
  const inPage = `is_held AND queue_id IN (SELECT queue_id FROM matching ${order} LIMIT ? OFFSET ?) ${order}`;
  return {
    sql: `(${entriesOf(inPage)}) AS mails, (SELECT count(*) FROM matching) AS total`,
    bindings: [nodeId, limit, offset],
  };
};

/** All that match are looked up anyway, once for the page and the count. */
const pageOfFew = (nodeId: string, search: HeldSearch, {limit, offset}: Page): PageQuery => {
  const {sql, bindings} = heldCondition(search);
  return {
    found: {
      sql: `WITH found AS MATERIALIZED (SELECT rowid AS id, arrived_at, queue_id FROM held_mail WHERE ${sql})`,
      bindings,
    },
    sql: entriesOf(
      `rowid IN (SELECT id FROM found ORDER BY arrived_at DESC, queue_id LIMIT ? OFFSET ?) ORDER BY arrived_at DESC, queue_id`,
    ),
    bindings: [nodeId, limit, offset],
  };
};

const foundCount: Condition = {sql: 'SELECT count(*) FROM found', bindings: []};
const noCount: Condition = {sql: 'SELECT 0', bindings: []};

/** One statement, so that both are of one moment. */
const pageAnd = async (
  read: Db,
  {found, ...page}: PageQuery,
  counted: Condition,
): Promise<{mails: HeldMail[]; total: number}> => {
  const [row] = await query<PageRow>(read, `${found?.sql ?? ''} SELECT (${page.sql}) AS mails, (${counted.sql}) AS total`, [
    ...(found?.bindings ?? []),
    ...page.bindings,
    ...counted.bindings,
  ]);
  return listedIn(row ?? {mails: '[]', total: 0});
};

/** `mails` is one JSON array: to read it costs a third of making an object of each row. */
interface PageRow {
  mails: string;
  total: number;
}

const listedIn = ({mails, total}: PageRow) => ({mails: JSON.parse(mails) as HeldMail[], total});

/** From the index alone; cut off before they are numbered, as a window is computed over all that it is given. */
const readSamples = async (read: Db, search: HeldSearch, {offset, stride, limit}: Page & {stride: number}): Promise<Cursor[]> => {
  const {sql, bindings} = heldCondition(search);
  return query<Cursor>(
    read,
    `
        SELECT arrived_at, queue_id FROM (
          SELECT arrived_at, queue_id, row_number() OVER (ORDER BY arrived_at DESC, queue_id) AS position FROM (
            SELECT arrived_at, queue_id FROM held_mail WHERE ${sql} ORDER BY arrived_at DESC, queue_id LIMIT ? OFFSET ?
          )
        ) WHERE position % ? = 0 ORDER BY position`,
    [...bindings, stride * limit, offset, stride],
  );
};

const readGroups = async (read: Db, search: HeldSearch): Promise<HeldGroup[]> => {
  const {sql, bindings} = heldCondition(search);
  return query<HeldGroup>(
    read,
    `
        SELECT domain, reason, count(*) AS count, sum(size_bytes) AS size_bytes, min(arrived_at) AS oldest_arrived_at
        FROM held_mail WHERE ${sql} GROUP BY domain, reason ORDER BY domain, reason`,
    bindings,
  );
};

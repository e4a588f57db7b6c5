// Queries of the hold queue.

import {type HoldFilter, isSearch, type Page} from '../../../shared/hold-filter.ts';
import type {AccessScope} from '../../../shared/scopes.ts';
import type {HeldGroup, SampledHeldQuery} from '../../services/ports.ts';
import type {HoldCursor} from '../../services/quarantine/stored-mail.ts';
import {type Db, query} from '../sql/db.ts';
import {
  foldSubject,
  heldFilter,
  isRequested,
  type ListedRow,
  listColumns,
  listedMail,
  type SqlCondition,
  totalOf,
} from '../sql/held-mail.ts';

/** `nodeId` is the node of all mails in this database. */
export const createHeldQuery = (read: Db, nodeId: string): SampledHeldQuery => ({
  async list(filter, scope, {limit, offset}) {
    const search = await searchOf(read, filter, scope);
    const {sql, bindings} = pageCondition(search, {limit, offset});
    const total = totalIn(search);
    // One statement, so that both results are of one moment. A page after the end is one row without a mail.
    const rows = await query<(Omit<ListedRow, 'node_id'> | {queue_id: null}) & {total: number}>(
      read,
      `SELECT * FROM (SELECT (${total.sql}) AS total) LEFT JOIN (
         SELECT ${listColumns()} FROM held_mail WHERE ${sql}
       ) ON true ${order}`,
      [...total.bindings, ...bindings],
    );
    return {
      mails: rows.flatMap(row => (row.queue_id === null ? [] : [listedMail({...row, node_id: nodeId})])),
      total: rows[0]?.total ?? 0,
    };
  },

  async samples(filter, scope, {offset, stride, limit}) {
    const search = await searchOf(read, filter, scope);
    const {sql, bindings} = orderedMails(search, {limit: stride * limit, offset});
    // Limited before they are numbered, as a window function processes all its input.
    const marks = await query<HoldCursor>(
      read,
      `SELECT arrived_at, ? AS node_id, queue_id FROM (
         SELECT arrived_at, queue_id, row_number() OVER (${order}) AS position FROM (${sql})
       ) WHERE position % ? = 0 ORDER BY position`,
      [nodeId, ...bindings, stride],
    );
    return {marks, total: await countOf(read, totalIn(search))};
  },

  async positionOf(filter, scope, {arrived_at, node_id, queue_id}) {
    const {sql, bindings} = heldCondition(await searchOf(read, filter, scope));
    return countOf(read, {
      sql: `SELECT count(*) FROM held_mail WHERE ${sql} AND arrived_at >= ? AND (arrived_at > ? OR (?, queue_id) < (?, ?))`,
      bindings: [...bindings, arrived_at, arrived_at, nodeId, node_id, queue_id],
    });
  },

  async groups(filter, scope) {
    const {sql, bindings} = heldCondition(await searchOf(read, filter, scope));
    return query<HeldGroup>(
      read,
      `SELECT domain, reason, count(*) AS count, sum(size_bytes) AS size_bytes, min(arrived_at) AS oldest_arrived_at
       FROM held_mail WHERE ${sql} GROUP BY domain, reason ORDER BY domain, reason`,
      bindings,
    );
  },
});

const order = 'ORDER BY arrived_at DESC, queue_id';

const totalIn = (search: HeldSearch): SqlCondition => {
  if (!isSearch(search.filter)) return totalOf(search.filter, search.scope);
  if (search.counted && isAlone(search, search.counted.by)) return {sql: 'SELECT ?', bindings: [search.counted.count]};
  const {address, recipient} = search.filter;
  // Without a look at the row of each.
  if (address !== undefined && isAlone(search, 'address'))
    return {sql: `SELECT count(*) FROM (${heldWithAddress})`, bindings: anywhere(address)};
  if (recipient !== undefined && isAlone(search, 'recipient'))
    return {sql: `SELECT count(*) FROM (${heldWithRecipient})`, bindings: [recipient]};
  const {sql, bindings} = heldCondition(search);
  return {sql: `SELECT count(*) FROM held_mail WHERE ${sql}`, bindings};
};

const countOf = async (read: Db, {sql, bindings}: SqlCondition): Promise<number> => {
  const [row] = await query<{count: number}>(read, `SELECT (${sql}) AS count`, bindings);
  return row?.count ?? 0;
};

interface HeldSearch {
  filter: HoldFilter;
  scope: AccessScope;
  /** Queue ids that include all matches, as a JSON array; only if few mails have the subject or an address. */
  ids?: string;
  /** Number of mails that match one member of the filter, if an index of held mail can answer that. */
  counted?: {by: 'subject' | 'from'; count: number};
}

const searchOf = async (read: Db, filter: HoldFilter, scope: AccessScope): Promise<HeldSearch> => {
  const folded = filter.subject === undefined ? undefined : foldSubject(filter.subject);
  const subject = isIndexed(folded) ? await findFew(read, subjectSql, [phraseOf(folded), folded]) : undefined;
  const recipient = filter.recipient === undefined ? undefined : await findFew(read, recipientSql, [filter.recipient]);
  const from = filter.from === undefined ? undefined : await findFew(read, fromSql, fromRange(filter.from));
  const address = filter.address === undefined ? undefined : await findFew(read, addressSql, anywhere(filter.address));
  const requested = filter.requested ? await findFew(read, requestedSql, []) : undefined;
  const ids = subject?.ids ?? recipient?.ids ?? from?.ids ?? address?.ids ?? requested?.ids;
  const counted: HeldSearch['counted'] = subject
    ? {by: 'subject', count: subject.count}
    : from && {by: 'from', count: from.count};
  return {filter, scope, ...(ids && {ids}), ...(counted && {counted})};
};

interface Found {
  count: number;
  /** Null when there are more than a few. */
  ids: string | null;
}

const findFew = async (read: Db, sql: string, values: string[]): Promise<Found | undefined> => {
  const [found] = await query<Found>(read, sql, values);
  return found;
};

/** With more matches than this, walking the list finds enough of them quickly. */
const few = 1500;

/** Subjects that are not in the index yet are compared one by one. */
const subjectSql = `
  WITH found AS MATERIALIZED (
    SELECT rowid AS id FROM held_trigram WHERE held_trigram MATCH ?
    UNION ALL SELECT id FROM held_subject WHERE id > (SELECT upto FROM held_trigram_end) AND instr(folded_subject, ?)
  )
  SELECT count(*) AS count, iif(
    count(*) <= ${few}, (SELECT json_group_array(queue_id) FROM held_subject WHERE id IN (SELECT id FROM found)), NULL
  ) AS ids FROM found`;

const requestedSql = `
  WITH found AS MATERIALIZED (
    SELECT DISTINCT queue_id FROM recipient_request AS r
    WHERE EXISTS (SELECT 1 FROM held_subject AS s WHERE s.queue_id = r.queue_id) LIMIT ${few + 1}
  )
  SELECT count(*) AS count, iif(count(*) <= ${few}, json_group_array(queue_id), NULL) AS ids FROM found`;

const recipientSql = `
  WITH found AS MATERIALIZED (SELECT queue_id FROM held_recipient WHERE recipient = ? LIMIT ${few + 1})
  SELECT count(*) AS count, iif(count(*) <= ${few}, json_group_array(queue_id), NULL) AS ids FROM found`;

/** The bounds of an address, or of all addresses of a domain, as they are indexed: no address has an upper-case letter. */
const fromRange = (from: string): [string, string] => {
  const turned = turnedAddress(from);
  return from.includes('@') ? [turned, turned] : [`${from}@`, `${from}A`];
};

const turnedAddress = (address: string): string => {
  const at = address.lastIndexOf('@');
  return `${address.slice(at + 1)}@${address.slice(0, at)}`;
};

/** The values for an address in each place. */
const anywhere = (address: string): [string, string, string] => [address, address, turnedAddress(address)];

const fromSql = `
  WITH found AS MATERIALIZED (SELECT DISTINCT queue_id FROM held_from WHERE address BETWEEN ? AND ?)
  SELECT count(*) AS count, iif(
    count(*) <= ${few}, (SELECT json_group_array(queue_id) FROM found), NULL
  ) AS ids FROM found`;

const withAddress = (limit: string) => `
  SELECT * FROM (SELECT queue_id FROM held_mail WHERE is_held AND folded_sender = ?${limit})
  UNION ALL SELECT * FROM (SELECT queue_id FROM held_recipient WHERE recipient = ?${limit})
  UNION ALL SELECT * FROM (SELECT queue_id FROM held_from WHERE address = ?${limit})`;

/** Rows of recipients are those of ended mail too; the subjects are those of held mail alone, and have a small index of its ids. */
const heldWithRecipient = `
  SELECT queue_id FROM held_recipient AS r WHERE recipient = ?
    AND EXISTS (SELECT 1 FROM held_subject AS s WHERE s.queue_id = r.queue_id)`;

const heldWithAddress = `
  SELECT queue_id FROM held_mail WHERE is_held AND folded_sender = ?
  UNION ${heldWithRecipient}
  UNION SELECT queue_id FROM held_from WHERE address = ?`;

const addressSql = `
  WITH found AS MATERIALIZED (${withAddress(` LIMIT ${few + 1}`)})
  SELECT count(*) AS count, iif(count(*) <= ${few}, json_group_array(queue_id), NULL) AS ids FROM found`;

/** False for a text of fewer than three characters, and for one that FTS5 would cut off. */
const isIndexed = (folded: string | undefined): folded is string =>
  folded !== undefined && [...folded].length >= 3 && !folded.includes('\0');

const phraseOf = (folded: string): string => `"${folded.replaceAll('"', '""')}"`;

/** Whether that member is the only condition. */
const isAlone = ({filter, scope}: HeldSearch, member: keyof HoldFilter): boolean =>
  scope.kind === 'all' &&
  Object.entries(filter).every(([name, value]) => value === undefined || name === member || name === 'node');

/**
 * `is_held` is written literally, never bound: SQLite uses a partial index only if the query contains its condition. When the
 * rows are walked in the order of the list until there are enough, the mails with an address are not collected first, as they may
 * be many.
 */
const heldCondition = ({filter, scope, ids}: HeldSearch, isWalked = false): SqlCondition => {
  const {sql, bindings} = heldFilter(filter, scope);
  const parts = [sql];
  const add = (condition: string, value: string | number | undefined) => {
    if (value === undefined) return;
    parts.push(condition);
    bindings.push(value);
  };
  add(isWalked && ids === undefined ? ofRecipientWalked : ofRecipient, filter.recipient);
  const isTested = isWalked || ids !== undefined;
  if (filter.from !== undefined) {
    parts.push(isTested ? ofFromTested : ofFrom);
    bindings.push(...fromRange(filter.from));
  }
  if (filter.address !== undefined) {
    parts.push(isTested ? ofAddressTested : ofAddress);
    bindings.push(...anywhere(filter.address));
  }
  add('held_mail.queue_id IN (SELECT value FROM json_each(?))', ids);
  if (filter.requested) parts.push(isRequested());
  // A lower bound that all mails meet: without one, SQLite walks an index without the subject and reads every row.
  if (filter.subject !== undefined && filter.since === undefined) add('arrived_at >= ?', '');
  add('instr(folded_subject, ?)', filter.subject === undefined ? undefined : foldSubject(filter.subject));
  return {sql: parts.join(' AND '), bindings};
};

/** The rows of one page of the list. */
const pageCondition = (search: HeldSearch, page: Page): SqlCondition => {
  if (mergedDomains(search).length === 0) {
    const {sql, bindings} = heldCondition(search, true);
    return {sql: `${sql} ${order} LIMIT ? OFFSET ?`, bindings: [...bindings, page.limit, page.offset]};
  }
  const {sql, bindings} = orderedMails(search, page);
  return {sql: `held_mail.rowid IN (SELECT id FROM (${sql}))`, bindings};
};

/** A page of the list, as row numbers with the columns that it is ordered by. */
const orderedMails = (search: HeldSearch, {limit, offset}: Page): SqlCondition => {
  const merged = mergedDomains(search).map((domainId): HeldSearch => ({...search, scope: {kind: 'domain', domainId}}));
  const conditions = (merged.length === 0 ? [search] : merged).map(part => heldCondition(part, true));
  const selects = conditions.map(({sql}) => `SELECT held_mail.rowid AS id, arrived_at, queue_id FROM held_mail WHERE ${sql}`);
  return {
    sql: `${selects.join(' UNION ALL ')} ${order} LIMIT ? OFFSET ?`,
    bindings: [...conditions.flatMap(({bindings}) => bindings), limit, offset],
  };
};

/**
 * The domains of a scope whose mails are walked apart, each in the order of the list, and merged: with `IN`, SQLite sorts everything
 * before a deep page. None where a condition leads to fewer mails through its own index.
 */
const mergedDomains = ({filter: {domain, sender, from, address, recipient, subject, requested}, scope}: HeldSearch): number[] =>
  [domain, sender, from, address, recipient, subject, requested].every(value => value === undefined) && scope.kind === 'domains'
    ? [...new Set(scope.domainIds)]
    : [];

const ofRecipient = 'held_mail.queue_id IN (SELECT queue_id FROM held_recipient WHERE recipient = ?)';
const ofRecipientWalked = '(SELECT true FROM held_recipient AS r WHERE r.recipient = ? AND r.queue_id = held_mail.queue_id)';
const ofFrom = 'held_mail.queue_id IN (SELECT queue_id FROM held_from WHERE address BETWEEN ? AND ?)';
const ofFromTested = 'EXISTS (SELECT 1 FROM held_from AS f WHERE f.queue_id = held_mail.queue_id AND f.address BETWEEN ? AND ?)';
const ofAddress = `held_mail.queue_id IN (${withAddress('')})`;
const ofAddressTested = `(folded_sender = ? OR ${ofRecipientWalked}
  OR EXISTS (SELECT 1 FROM held_from AS f WHERE f.queue_id = held_mail.queue_id AND f.address = ?))`;

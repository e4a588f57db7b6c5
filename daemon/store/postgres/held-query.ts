// Queries of the held mail of all nodes.
import type {SummaryGroup} from '../../../shared/held-mail.ts';
import {type HoldFilter, isSearch} from '../../../shared/hold-filter.ts';
import type {AccessScope} from '../../../shared/scopes.ts';
import type {CommonHeldQuery} from '../../services/common-store.ts';
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
import {containing} from './dialect.ts';

export const createCommonHeldQuery = (db: Db): CommonHeldQuery => ({
  async list(filter, scope, {limit, offset}) {
    const {sql, bindings} = conditionOf(filter, scope);
    const total = totalIn(filter, scope);
    // One statement, so that all is of one moment: the dashboard finds its place by the total.
    const rows = await query<ListedRow & Total>(
      db,
      `SELECT (${total.sql}) AS total, node_id, ${listColumns('node_id')} FROM held_mail WHERE ${sql} ${order} LIMIT ? OFFSET ?`,
      [...total.bindings, ...bindings, limit, offset],
    );
    const [first] = rows;
    if (first) return {mails: rows.map(listedMail), total: first.total};
    // A page after the end: mail that has arrived since the first statement does not count.
    const [later] = await query<Total>(db, `SELECT (${total.sql}) AS total`, total.bindings);
    return {mails: [], total: Math.min(later?.total ?? 0, offset)};
  },

  async groups(filter, scope) {
    const {sql, bindings} = conditionOf(filter, scope);
    return query<SummaryGroup>(
      db,
      `SELECT node_id, domain, reason, count(*) AS count, sum(size_bytes) AS size_bytes, min(arrived_at) AS oldest_arrived_at
       FROM held_mail WHERE ${sql} GROUP BY node_id, domain, reason ORDER BY domain, reason, node_id`,
      bindings,
    );
  },

  async postfixNodes() {
    const sql = "SELECT DISTINCT node_id FROM held_mail WHERE is_held AND keeper = 'postfix'";
    return (await query<{node_id: string}>(db, sql)).map(({node_id}) => node_id);
  },

  async holdingNodes() {
    const sql = 'SELECT DISTINCT node_id FROM held_count WHERE count > 0 ORDER BY node_id';
    return (await query<{node_id: string}>(db, sql)).map(({node_id}) => node_id);
  },

  async keepersOf(mails) {
    const {rows, json} = db.dialect;
    const wanted = rows('held_mail', ['node_id', 'queue_id']);
    const sql = `SELECT node_id, queue_id, keeper FROM held_mail WHERE (node_id, queue_id) IN (${wanted})`;
    return query(db, sql, [json(mails.map(({node_id, queue_id}) => ({node_id, queue_id})))]);
  },
});

interface Total {
  total: number;
}

const order = 'ORDER BY arrived_at DESC, node_id, queue_id';

const totalIn = (filter: HoldFilter, scope: AccessScope): SqlCondition => {
  if (!isSearch(filter)) return totalOf(filter, scope, 'node_id');
  // Counted apart and added up: an index alone can count those with one domain, but not those with either condition.
  const counted = placesOf(filter).map(place => conditionOf(filter, scope, [place]));
  return {
    sql: `SELECT ${counted.map(({sql}) => `(SELECT count(*) FROM held_mail WHERE ${sql})`).join(' + ')}`,
    bindings: counted.flatMap(({bindings}) => bindings),
  };
};

const ofFrom = 'folded_from @> ARRAY[?]';

/** Where the address or domain of an author may be; no mail has it in two places. */
const placesOf = ({from}: HoldFilter): string[] =>
  from === undefined || from.includes('@') ? [ofFrom] : ['from_domain = ?', ofFrom];

const conditionOf = (filter: HoldFilter, scope: AccessScope, places = placesOf(filter)): SqlCondition => {
  const {sql, bindings} = heldFilter(filter, scope);
  const parts = [sql];
  const add = (condition: string, value: string | undefined) => {
    if (value === undefined) return;
    parts.push(condition);
    bindings.push(...Array(condition.split('?').length - 1).fill(value));
  };
  add('node_id = ?', filter.node);
  add('folded_recipients @> ARRAY[?]', filter.recipient);
  add(`(${places.join(' OR ')})`, filter.from);
  add(`(folded_sender = ? OR folded_recipients @> ARRAY[?] OR ${ofFrom})`, filter.address);
  add('folded_subject LIKE ?', filter.subject === undefined ? undefined : containing(foldSubject(filter.subject)));
  if (filter.requested) parts.push(isRequested('node_id'));
  return {sql: parts.join(' AND '), bindings};
};

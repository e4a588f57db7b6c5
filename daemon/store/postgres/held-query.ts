// Queries of the held mail of all nodes.
import type {SummaryGroup} from '../../../shared/held-mail.ts';
import {type HoldFilter, isSearch} from '../../../shared/hold-filter.ts';
import type {AccessScope} from '../../../shared/scopes.ts';
import type {CommonHeldQuery} from '../../services/common-store.ts';
import {type Db, type Dialect, query} from '../sql/db.ts';
import {foldSubject, heldFilter, type ListedRow, listColumns, listedMail, type SqlCondition, totalOf} from '../sql/held-mail.ts';

export const createCommonHeldQuery = (db: Db): CommonHeldQuery => ({
  async list(filter, scope, {limit, offset}) {
    const {sql, bindings} = conditionOf(db.dialect, filter, scope);
    const total = totalIn(db.dialect, filter, scope);
    // One statement, so that all is of one moment: the dashboard finds its place by the total.
    const rows = await query<ListedRow & Total>(
      db,
      `SELECT (${total.sql}) AS total, node_id, ${listColumns} FROM held_mail WHERE ${sql} ${order} LIMIT ? OFFSET ?`,
      [...total.bindings, ...bindings, limit, offset],
    );
    const [first] = rows;
    if (first) return {mails: rows.map(listedMail), total: first.total};
    // A page after the end: mail that has arrived since the first statement does not count.
    const [later] = await query<Total>(db, `SELECT (${total.sql}) AS total`, total.bindings);
    return {mails: [], total: Math.min(later?.total ?? 0, offset)};
  },

  async groups(filter, scope) {
    const {sql, bindings} = conditionOf(db.dialect, filter, scope);
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
});

interface Total {
  total: number;
}

const order = 'ORDER BY arrived_at DESC, node_id, queue_id';

const totalIn = (dialect: Dialect, filter: HoldFilter, scope: AccessScope): SqlCondition => {
  if (!isSearch(filter)) return totalOf(filter, scope, 'node_id');
  const {sql, bindings} = conditionOf(dialect, filter, scope);
  return {sql: `SELECT count(*) FROM held_mail WHERE ${sql}`, bindings};
};

const conditionOf = ({containing}: Dialect, filter: HoldFilter, scope: AccessScope): SqlCondition => {
  const {sql, bindings} = heldFilter(filter, scope);
  const parts = [sql];
  const add = (condition: string, value: string | undefined) => {
    if (value === undefined) return;
    parts.push(condition);
    bindings.push(...Array(condition.split('?').length - 1).fill(value));
  };
  add('node_id = ?', filter.node);
  add('folded_recipients @> ARRAY[?]', filter.recipient);
  add('folded_from @> ARRAY[?]', filter.from);
  add('(folded_sender = ? OR folded_recipients @> ARRAY[?] OR folded_from @> ARRAY[?])', filter.address);
  add(containing.sql, filter.subject === undefined ? undefined : containing.of(foldSubject(filter.subject)));
  return {sql: parts.join(' AND '), bindings};
};

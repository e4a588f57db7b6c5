// Queries of the hold queue.

import type {HeldMail, SymbolScore} from '../../../shared/held-mail.ts';
import type {HeldGroup, HeldQuery} from '../../services/ports.ts';
import type {HoldCursor} from '../../services/quarantine/hold-queue-port.ts';
import {shownScore} from '../../services/quarantine/stored-mail.ts';
import type {Database, Db} from './database.ts';
import {isCounted, totalOf} from './held-count.ts';
import {type Condition, type HeldSearch, heldCondition, isSubjectAlone, searchOf} from './held-search.ts';
import {query} from './query.ts';

/** `nodeId` is the node of all mails in this database. */
export const createHeldQuery = ({read}: Pick<Database, 'read'>, nodeId: string): HeldQuery => ({
  async list(filter, scope, {limit, offset}) {
    const search = await searchOf(read, filter, scope);
    const {sql, bindings} = heldCondition(search, true);
    const total = totalIn(search);
    // One statement, so that both results are of one moment. A page after the end is one row without a mail.
    const rows = await query<(MailRow | {queue_id: null}) & {total: number}>(
      read,
      `SELECT * FROM (SELECT (${total.sql}) AS total) LEFT JOIN (
         SELECT ${columns} FROM held_mail WHERE ${sql} ${order} LIMIT ? OFFSET ?
       ) ON true ${order}`,
      [...total.bindings, ...bindings, limit, offset],
    );
    return {mails: rows.flatMap(row => (row.queue_id === null ? [] : [mailOf(nodeId, row)])), total: rows[0]?.total ?? 0};
  },

  async samples(filter, scope, {offset, stride, limit}) {
    const search = await searchOf(read, filter, scope);
    const {sql, bindings} = heldCondition(search, true);
    // Limited before they are numbered, as a window function processes all its input.
    const marks = query<HoldCursor>(
      read,
      `SELECT arrived_at, ? AS node_id, queue_id FROM (
         SELECT arrived_at, queue_id, row_number() OVER (${order}) AS position FROM (
           SELECT arrived_at, queue_id FROM held_mail WHERE ${sql} ${order} LIMIT ? OFFSET ?
         )
       ) WHERE position % ? = 0 ORDER BY position`,
      [nodeId, ...bindings, stride * limit, offset, stride],
    );
    const total = countOf(read, totalIn(search));
    return {marks: await marks, total: await total};
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

const columns = 'queue_id, sender, recipients, subject, score, symbols, reason, size_bytes, arrived_at';

type MailRow = Omit<HeldMail, 'node_id' | 'recipients' | 'symbols'> & {recipients: string; symbols: string};

const mailOf = (
  nodeId: string,
  {queue_id, sender, recipients, subject, score, symbols, reason, size_bytes, arrived_at}: MailRow,
) => ({
  node_id: nodeId,
  queue_id,
  sender,
  recipients: JSON.parse(recipients) as string[],
  subject,
  score: shownScore(score),
  symbols: (JSON.parse(symbols) as SymbolScore[]).map(({name}) => name),
  reason,
  size_bytes,
  arrived_at,
});

const totalIn = (search: HeldSearch): Condition => {
  if (isCounted(search.filter)) return totalOf(search.filter, search.scope);
  if (search.withSubject !== undefined && isSubjectAlone(search)) return {sql: 'SELECT ?', bindings: [search.withSubject]};
  const {sql, bindings} = heldCondition(search);
  return {sql: `SELECT count(*) FROM held_mail WHERE ${sql}`, bindings};
};

const countOf = async (read: Db, {sql, bindings}: Condition): Promise<number> => {
  const [row] = await query<{count: number}>(read, `SELECT (${sql}) AS count`, bindings);
  return row?.count ?? 0;
};

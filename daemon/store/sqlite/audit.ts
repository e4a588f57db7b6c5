import {createHash} from 'node:crypto';
import type {Knex} from 'knex';
import type {NewAuditEntry, StoredAuditEntry} from '../../services/audit/stored-entry.ts';
import type {AuditCursor, AuditFilter, AuditReads, StoreTransaction} from '../../services/ports.ts';
import type {Db} from './database.ts';
import {query} from './query.ts';

const columns = ['at', 'key_id', 'action', 'target', 'remote_address', 'result', 'detail', 'hash'] as const;

const newest = 'SELECT hash FROM audit ORDER BY seq DESC LIMIT 1';
const appending = `INSERT INTO audit (${columns.join(', ')}) SELECT ${columns.map(name => `value->>'$.${name}'`).join(', ')} FROM json_each(?)`;

type ChainedEntry = NewAuditEntry & {hash: string};

/** The entries form a chain: each hash covers the entry and the hash before it. */
export const auditStore = (db: Db): AuditReads & StoreTransaction['audit'] => ({
  async append(...entries) {
    if (entries.length === 0) return;
    const [last] = await query<{hash: string}>(db, newest);
    await query(db, appending, [JSON.stringify(chained(last?.hash ?? '', entries))]);
  },

  async list(filter, {limit, offset}) {
    const [entries, total] = await Promise.all([
      db('audit')
        .modify(matching, filter)
        .leftJoin('api_key', 'api_key.id', 'audit.key_id')
        .select<StoredAuditEntry[]>('audit.*', {key_name: 'api_key.name'})
        .orderBy(newestFirst)
        .limit(limit)
        .offset(offset),
      countAudit(db, filter),
    ]);
    return {entries, total};
  },

  async samples(filter, {offset, stride, limit}) {
    const inOrder = db('audit')
      .modify(matching, filter)
      .select('at', 'seq')
      .orderBy(newestFirst)
      .limit(stride * limit)
      .offset(offset);
    const numbered = db
      .from(inOrder.as('part'))
      .select('at', 'seq', db.raw('row_number() OVER (ORDER BY at DESC, seq DESC) AS position'));
    const [marks, total] = await Promise.all([
      db
        .from(numbered.as('numbered'))
        .select<Omit<AuditCursor, 'node_id'>[]>('at', 'seq')
        .whereRaw('position % ? = 0', [stride])
        .orderBy('position'),
      countAudit(db, filter),
    ]);
    return {marks, total};
  },

  async positionOf(filter, {at, node_id, seq}, nodeId) {
    return countAudit(db, filter, query =>
      query.where('audit.at', '>=', at).whereRaw('(audit.at > ? OR (?, -audit.seq) < (?, ?))', [at, nodeId, node_id, -seq]),
    );
  },
});

/** The rows that follow the row with the hash `last`. */
const chained = (last: string, entries: readonly NewAuditEntry[]): ChainedEntry[] => {
  let hash = last;
  return entries.map(entry => {
    hash = auditHash(hash, entry);
    return {...entry, hash};
  });
};

/** SHA-256, in hex, of the previous hash and the values of the entry in the order of the record. */
export const auditHash = (
  previous: string,
  {at, key_id, action, target, remote_address, result, detail}: NewAuditEntry,
): string =>
  createHash('sha256')
    .update(JSON.stringify([previous, at, key_id, action, target, remote_address, result, detail]))
    .digest('hex');

const newestFirst = [
  {column: 'audit.at', order: 'desc'},
  {column: 'audit.seq', order: 'desc'},
];

const countAudit = async (
  db: Db,
  filter: AuditFilter,
  restrict: (query: Knex.QueryBuilder) => unknown = () => {},
): Promise<number> => {
  const row = await db('audit').modify(matching, filter).modify(restrict).count({count: '*'}).first<{count: number}>();
  return row?.count ?? 0;
};

const matching = (query: Knex.QueryBuilder, {since, key_id, action}: AuditFilter): void => {
  if (since !== undefined) void query.where('audit.at', '>=', since);
  if (key_id !== undefined) void query.where('audit.key_id', key_id);
  if (action !== undefined) void query.where('audit.action', action);
};

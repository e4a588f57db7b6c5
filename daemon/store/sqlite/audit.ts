import {createHash} from 'node:crypto';
import type {Knex} from 'knex';
import type {AuditQuery, Page} from '../../../shared/hold-filter.ts';
import type {NewAuditEntry, StoredAuditEntry} from '../../services/audit/stored-entry.ts';
import type {Db} from './database.ts';
import {query} from './query.ts';

const columns = ['at', 'key_id', 'action', 'target', 'remote_address', 'result', 'detail', 'hash'] as const;

const newest = 'SELECT hash FROM audit ORDER BY seq DESC LIMIT 1';
const appending = `INSERT INTO audit (${columns.join(', ')}) SELECT ${columns.map(name => `value->>'$.${name}'`).join(', ')} FROM json_each(?)`;

type ChainedEntry = NewAuditEntry & {hash: string};

/**
 * Appends to this node's log. The entries form a chain: each hash covers the entry and the hash before it. Must run inside a
 * transaction.
 */
export const appendAudit = async (db: Db, ...entries: NewAuditEntry[]): Promise<void> => {
  if (entries.length > 0) await query(db, appending, [JSON.stringify(chained(await lastAuditHash(db), entries))]);
};

/** The hash of the newest entry; empty before the first one. */
const lastAuditHash = async (db: Db): Promise<string> => {
  const [last] = await query<{hash: string}>(db, newest, []);
  return last?.hash ?? '';
};

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

type AuditFilter = Omit<AuditQuery, keyof Page>;

/** Newest first. `key_name` comes from the record of the key, so it is missing once the key was deleted. */
export const listAudit = async (
  db: Db,
  filter: AuditFilter,
  {limit, offset}: Page,
): Promise<{entries: StoredAuditEntry[]; total: number}> => {
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
};

type Cursor = Pick<StoredAuditEntry, 'at' | 'seq'>;

/** The cursors of every `stride`-th entry after the first `offset`, at most `limit` of them. `total` counts all matches. */
export const sampleAudit = async (
  db: Db,
  filter: AuditFilter,
  {offset, stride, limit}: Page & {stride: number},
): Promise<{marks: Cursor[]; total: number}> => {
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
    db.from(numbered.as('numbered')).select<Cursor[]>('at', 'seq').whereRaw('position % ? = 0', [stride]).orderBy('position'),
    countAudit(db, filter),
  ]);
  return {marks: marks.map(({at, seq}) => ({at, seq: Number(seq)})), total};
};

/** Number of matches in the log of this node (`nodeId`) that come before a cursor in the merged log of all nodes. */
export const positionInAudit = async (
  db: Db,
  filter: AuditFilter,
  {cursor: {at, node_id, seq}, nodeId}: {cursor: Cursor & {node_id: string}; nodeId: string},
): Promise<number> => {
  const row = await db('audit')
    .modify(matching, filter)
    .where('audit.at', '>=', at)
    .whereRaw('(audit.at > ? OR (?, -audit.seq) < (?, ?))', [at, nodeId, node_id, -seq])
    .count({count: '*'})
    .first<{count: number | string}>();
  return Number(row?.count ?? 0);
};

const newestFirst = [
  {column: 'audit.at', order: 'desc'},
  {column: 'audit.seq', order: 'desc'},
];

const countAudit = async (db: Db, filter: AuditFilter): Promise<number> => {
  const row = await db('audit').modify(matching, filter).count({count: '*'}).first<{count: number | string}>();
  return Number(row?.count ?? 0);
};

const matching = (query: Knex.QueryBuilder, {since, key_id, action}: AuditFilter): void => {
  if (since !== undefined) void query.where('audit.at', '>=', since);
  if (key_id !== undefined) void query.where('audit.key_id', key_id);
  if (action !== undefined) void query.where('audit.action', action);
};

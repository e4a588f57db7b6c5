// Audit log.
import {createHash} from 'node:crypto';
import type {NewAuditEntry, StoredAuditEntry} from '../../services/audit/stored-entry.ts';
import type {AuditCursor, AuditFilter, AuditReads, StoreTransaction} from '../../services/ports.ts';
import {configReads} from './config-record.ts';
import {type Db, insertOwn, query} from './db.ts';

const columns = ['at', 'key_id', 'action', 'target', 'remote_address', 'result', 'detail', 'hash'] as const;

type ChainedEntry = NewAuditEntry & {hash: string};

/** The entries of a node form a chain: each hash covers the entry and the hash before it. */
export const auditStore = (db: Db): AuditReads & StoreTransaction['audit'] => {
  const {dialect} = db;
  const newestFirst = `audit.at DESC, ${dialect.own.column && 'audit.node_id, '}audit.seq DESC`;
  const count = async ({sql, values}: Condition): Promise<number> => {
    const [row] = await query<{count: number}>(db, `SELECT count(*) AS count FROM audit WHERE ${sql}`, values);
    return row?.count ?? 0;
  };

  return {
    async append(...entries) {
      if (entries.length === 0) return;
      const newest = `SELECT hash FROM audit WHERE ${dialect.own.condition}true ORDER BY seq DESC LIMIT 1`;
      const [last] = await query<{hash: string}>(db, newest);
      await query(db, insertOwn(dialect, 'audit', columns), [dialect.json(chained(last?.hash ?? '', entries))]);
    },

    async list(filter, {limit, offset}) {
      const condition = matching(filter);
      const sql = `SELECT * FROM audit WHERE ${condition.sql} ORDER BY ${newestFirst} LIMIT ? OFFSET ?`;
      const [entries, total] = await Promise.all([
        query<Omit<StoredAuditEntry, 'key_name'>>(db, sql, [...condition.values, limit, offset]),
        count(condition),
      ]);
      const keys = await configReads(db).listApiKeys([...new Set(entries.flatMap(({key_id}) => key_id ?? []))]);
      const names = new Map(keys.map(({id, name}) => [id, name]));
      return {entries: entries.map(entry => ({...entry, key_name: names.get(entry.key_id ?? 0) ?? null})), total};
    },

    async samples(filter, {offset, stride, limit}) {
      const condition = matching(filter);
      const sql = `SELECT at, seq FROM (
          SELECT at, seq, row_number() OVER (ORDER BY at DESC, seq DESC) AS position FROM (
            SELECT at, seq FROM audit WHERE ${condition.sql} ORDER BY ${newestFirst} LIMIT ? OFFSET ?
          ) AS part
        ) AS numbered WHERE position % ? = 0 ORDER BY position`;
      const [marks, total] = await Promise.all([
        query<Omit<AuditCursor, 'node_id'>>(db, sql, [...condition.values, stride * limit, offset, stride]),
        count(condition),
      ]);
      return {marks, total};
    },

    async positionOf(filter, {at, node_id, seq}, nodeId) {
      const {sql, values} = matching(filter);
      const isBefore = 'audit.at >= ? AND (audit.at > ? OR (?, -audit.seq) < (?, ?))';
      return count({sql: `${sql} AND ${isBefore}`, values: [...values, at, at, nodeId, node_id, -seq]});
    },
  };
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

interface Condition {
  sql: string;
  values: (string | number)[];
}

const matching = ({since, key_id, action, target}: AuditFilter): Condition => {
  const parts = ['true'];
  const values: Condition['values'] = [];
  const add = (sql: string, value: string | number | undefined) => {
    if (value === undefined) return;
    parts.push(sql);
    values.push(value);
  };
  add('audit.at >= ?', since);
  add('audit.key_id = ?', key_id);
  add('audit.action = ?', action);
  add('audit.target = ?', target);
  return {sql: parts.join(' AND '), values};
};

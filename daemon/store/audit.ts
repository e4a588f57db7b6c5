import {createHash} from 'node:crypto';
import type {AuditQuery} from '../../shared/hold-filter.ts';
import type {Db} from './database.ts';

export interface NewAuditEntry {
  at: string;
  key_id: number | null;
  action: string;
  target: string;
  remote_address: string | null;
  /** `ok` or an error code. */
  result: string;
  detail: string;
}

export type StoredAuditEntry = NewAuditEntry & {seq: number; hash: string; key_name: string | null};

/** Appends to this node's log, chained: each hash covers the entry and the hash before it. Call it inside a transaction. */
export const appendAudit = async (db: Db, entry: NewAuditEntry): Promise<void> => {
  const last = await db<StoredAuditEntry>('audit').orderBy('seq', 'desc').first('hash');
  await db('audit').insert({...entry, hash: auditHash(last?.hash ?? '', entry)});
};

/** SHA-256, in hex, over the previous hash and the entry's values in the order of the record. */
export const auditHash = (
  previous: string,
  {at, key_id, action, target, remote_address, result, detail}: NewAuditEntry,
): string =>
  createHash('sha256')
    .update(JSON.stringify([previous, at, key_id, action, target, remote_address, result, detail]))
    .digest('hex');

/** Newest first. `key_name` comes from the key's record, so it is gone once the key has been deleted. */
export const listAudit = async (db: Db, query: AuditQuery): Promise<{entries: StoredAuditEntry[]; total: number}> => {
  const matching = db('audit').modify(builder => {
    if (query.since !== undefined) void builder.where('audit.at', '>=', query.since);
    if (query.key_id !== undefined) void builder.where('audit.key_id', query.key_id);
    if (query.action !== undefined) void builder.where('audit.action', query.action);
  });
  const [entries, count] = await Promise.all([
    matching
      .clone()
      .leftJoin('api_key', 'api_key.id', 'audit.key_id')
      .select<StoredAuditEntry[]>('audit.*', {key_name: 'api_key.name'})
      .orderBy('seq', 'desc')
      .limit(query.limit)
      .offset(query.offset),
    matching.clone().count({count: '*'}).first<{count: number}>(),
  ]);
  return {entries, total: Number(count?.count ?? 0)};
};

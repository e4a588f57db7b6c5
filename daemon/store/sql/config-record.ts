// Configuration records: every field with the stamp of its last write, and conversion to their readable form.

import type {Domain} from '../../../shared/domain.ts';
import {hasOwn} from '../../../shared/has-own.ts';
import type {MailFilter} from '../../../shared/mail-filter.ts';
import type {RecordStore} from '../../services/node-store.ts';
import type {ConfigReads} from '../../services/ports.ts';
import {
  idsPerNode,
  type RecordDigest,
  type RecordKey,
  type StampedFields,
  type StoredApiKey,
  type StoredDkimKey,
  type StoredNode,
  type StoredRecord,
} from '../../services/records.ts';
import {type Db, insertOf, query} from './db.ts';
import {readState, writeStates} from './local-state.ts';
import {compareShown, hideRecords, restoreRecords, showRecords} from './readable-tables.ts';

type Row = Omit<StoredRecord, 'fields'> & {fields: string};

const columns = ['kind', 'id', 'fields', 'deleted', 'unique_key', 'parent_id', 'digest'] as const;
const overwriting = `ON CONFLICT (kind, id) DO UPDATE SET ${columns
  .slice(2)
  .map(name => `${name} = excluded.${name}`)
  .join(', ')}`;

const following = 'WHERE (kind, id) > (?, ?) ORDER BY kind, id LIMIT ?';
const placeOf = (after: RecordKey | undefined): [string, number] => [after?.kind ?? '', after?.id ?? 0];

export const recordStore = (db: Db): RecordStore => {
  const {rows, join, json} = db.dialect;
  /** Finds any number of values of `column` with one statement. */
  const findAll = async (column: 'id' | 'unique_key' | 'parent_id', wanted: readonly object[]): Promise<StoredRecord[]> => {
    if (wanted.length === 0) return [];
    const distinct = [...new Map(wanted.map(key => [JSON.stringify(key), key])).values()];
    const sql = `SELECT r.* FROM (${rows('config_record', ['kind', column])}) AS wanted
      ${join} config_record AS r ON r.kind = wanted.kind AND r.${column} = wanted.${column}`;
    return (await query<Row>(db, sql, [json(distinct)])).map(toRecord);
  };
  const findByIds = async (keys: readonly RecordKey[]): Promise<StoredRecord[]> => {
    const named = keys.map(({kind, id}) => ({kind, id}));
    return findAll('id', named);
  };

  return {
    find: async key => (await findByIds([key]))[0],
    findAll: findByIds,
    async withUniqueKeys(records) {
      const named = records.flatMap(({kind, unique_key}) => (unique_key === null ? [] : [{kind, unique_key}]));
      return findAll('unique_key', named);
    },
    async childrenOf(kinds, parentIds) {
      const wanted = parentIds.flatMap(parent_id => kinds.map(kind => ({kind, parent_id})));
      return findAll('parent_id', wanted);
    },
    async after(after, limit) {
      return (await query<Row>(db, `SELECT * FROM config_record ${following}`, [...placeOf(after), limit])).map(toRecord);
    },
    async ofKind(kind, {after, limit}) {
      const sql = 'SELECT * FROM config_record WHERE kind = ? AND id > ? ORDER BY id LIMIT ?';
      return (await query<Row>(db, sql, [kind, after, limit])).map(toRecord);
    },
    async digestsAfter(after, limit) {
      const sql = `SELECT kind, id, digest FROM config_record ${following}`;
      const digests = await query<RecordDigest>(db, sql, [...placeOf(after), limit]);
      return digests.map(row => ({...row, id: Number(row.id)}));
    },
    async greatestId(kind, nodeNo) {
      const sql = 'SELECT max(id) AS id FROM config_record WHERE kind = ? AND id > ? AND id < ?';
      const [row] = await query<{id: number | null}>(db, sql, [kind, nodeNo * idsPerNode, (nodeNo + 1) * idsPerNode]);
      return row?.id ?? undefined;
    },
    sum: async () => (await readState(db, 'config_sum')) ?? '',
    async save(records) {
      const saved = records.map(record => ({...record, fields: JSON.stringify(record.fields)}));
      const sql = `${insertOf(db.dialect, 'config_record', columns)} ${overwriting}`;
      if (saved.length > 0) await query(db, sql, [json(saved)]);
    },
    async drop({kind, id}) {
      const [isIt, values] = Number.isSafeInteger(id) ? ['id = ?', [id]] : ["typeof(id) <> 'integer'", []];
      await query(db, `DELETE FROM config_record WHERE kind = ? AND ${isIt}`, [kind, ...values]);
    },
    writeSum: async (hex, changedAtMs) => writeStates(db, {config_sum: hex, config_changed_at: String(changedAtMs)}),
    compareShown: async (kind, range, records) => compareShown(db, kind, range, records),
    show: async (kind, records) => showRecords(db, kind, records),
    hide: async (kind, ids) => hideRecords(db, kind, ids),
    restore: async (kind, records) => restoreRecords(db, kind, records),
  };
};

/** A damaged id may not be a number. */
const toRecord = (row: Row): StoredRecord => ({
  ...row,
  id: Number(row.id),
  fields: JSON.parse(row.fields) as StampedFields,
});

export const configReads = (db: Db): ConfigReads => {
  /** All rows, or only those with one of the values in `column`. */
  const list = async <R>(table: string, column: string, values: readonly number[] | undefined, order = 'id'): Promise<R[]> => {
    if (values === undefined) return query<R>(db, `SELECT * FROM ${table} ORDER BY ${order}`);
    if (values.length === 0) return [];
    const {dialect} = db;
    const named = `${column} IN (${dialect.values('bigint')})`;
    return query<R>(db, `SELECT * FROM ${table} WHERE ${named} ORDER BY ${order}`, [dialect.json(values)]);
  };
  const listDomains: ConfigReads['listDomains'] = async ids => (await list<DomainRow>('domain', 'id', ids, 'name')).map(toDomain);

  return {
    listDomains,
    findDomain: async id => (await listDomains([id]))[0],
    listMailFilters: async domainIds => list<MailFilter>('mail_filter', 'domain_id', domainIds),
    listDkimKeys: async domainIds => list<StoredDkimKey>('dkim_key', 'domain_id', domainIds),
    listApiKeys: async ids => list<StoredApiKey>('api_key', 'id', ids),
    async findApiKey(key) {
      const [column, value] = hasOwn(key, 'id') ? ['id', key.id] : ['key_hash', key.key_hash];
      return (await query<StoredApiKey>(db, `SELECT * FROM api_key WHERE ${column} = ?`, [value]))[0];
    },
    listNodes: async () => list<StoredNode>('node', 'id', undefined),
    findNode: async nodeNo => (await list<StoredNode>('node', 'id', [nodeNo]))[0],
    async removedNodeNos() {
      const sql = "SELECT id FROM config_record WHERE kind = 'node' AND deleted IS NOT NULL";
      return (await query<{id: number}>(db, sql)).map(({id}) => id);
    },
    async greatestNodeNo() {
      const [row] = await query<{id: number}>(db, "SELECT coalesce(max(id), 0) AS id FROM config_record WHERE kind = 'node'");
      return row?.id ?? 0;
    },
    async isDeleted({kind, id}) {
      const sql = 'SELECT id FROM config_record WHERE kind = ? AND id = ? AND deleted IS NOT NULL';
      return (await query(db, sql, [kind, id])).length > 0;
    },
    configHash: async () => ({
      config_hash: `sha256:${((await readState(db, 'config_sum')) ?? '').padStart(64, '0')}`,
      changed_at_ms: Number((await readState(db, 'config_changed_at')) ?? 0),
    }),
  };
};

type DomainRow = Omit<Domain, 'active' | 'backend_servers' | 'dkim_active' | 'dmarc_reporting' | 'tenant_id'> & {
  active: number;
  backend_servers: string;
  dkim_active: number;
  dmarc_reporting: number;
  tenant_id: string;
};

const toDomain = (row: DomainRow): Domain => ({
  id: row.id,
  name: row.name,
  direction: row.direction,
  active: Boolean(row.active),
  backend_servers: JSON.parse(row.backend_servers) as string[],
  quarantine_threshold: row.quarantine_threshold,
  reject_threshold: row.reject_threshold,
  dkim_active: Boolean(row.dkim_active),
  dmarc_reporting: Boolean(row.dmarc_reporting),
  tenant_id: JSON.parse(row.tenant_id) as Domain['tenant_id'],
  created_at: row.created_at,
  updated_at: row.updated_at,
});

// Configuration records: every field with the stamp of its last write. A live record has a digest; it is read from the same row.

import {ascending} from '../../../shared/collections.ts';
import {hasOwn} from '../../../shared/has-own.ts';
import type {RecordStore} from '../../services/node-store.ts';
import type {ConfigReads} from '../../services/ports.ts';
import {toReadable} from '../../services/readable-record.ts';
import {
  idsPerNode,
  type Kind,
  type ReadableOf,
  type RecordDigest,
  type RecordKey,
  type StampedFields,
  type StoredRecord,
} from '../../services/records.ts';
import {type Db, insertOf, query, type Values} from './db.ts';
import {readState, writeStates} from './local-state.ts';

type Row = Omit<StoredRecord, 'fields'> & {fields: string};

const columns = ['kind', 'id', 'fields', 'deleted', 'unique_key', 'parent_id', 'digest'] as const;
const overwriting = `ON CONFLICT (kind, id) DO UPDATE SET ${columns
  .slice(2)
  .map(name => `${name} = excluded.${name}`)
  .join(', ')}`;

const following = 'WHERE (kind, id) > (?, ?) ORDER BY kind, id LIMIT ?';
const placeOf = (after: RecordKey | undefined): [string, number] => [after?.kind ?? '', after?.id ?? 0];

export const recordStore = (db: Db): RecordStore => {
  const {rows, values, join, json} = db.dialect;
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
      const endedKeys = records.filter(({kind, digest}) => kind === 'api_key' && digest === '').map(({id}) => id);
      if (endedKeys.length > 0) await query(db, `DELETE FROM key_use WHERE key_id IN (${values('bigint')})`, [json(endedKeys)]);
    },
    async drop({kind, id}) {
      const [isIt, wanted] = Number.isSafeInteger(id) ? ['id = ?', [id]] : ["typeof(id) <> 'integer'", []];
      await query(db, `DELETE FROM config_record WHERE kind = ? AND ${isIt}`, [kind, ...wanted]);
    },
    writeSum: async (hex, changedAtMs) => writeStates(db, {config_sum: hex, config_changed_at: String(changedAtMs)}),
  };
};

/** A damaged id may not be a number. */
const toRecord = (row: Row): StoredRecord => ({...row, id: Number(row.id), fields: fieldsIn(row)});

/** The error of JSON.parse would quote what is stored, which may be a key. */
const fieldsIn = ({kind, id, fields}: Pick<Row, 'kind' | 'id' | 'fields'>): StampedFields => {
  try {
    return JSON.parse(fields) as StampedFields;
  } catch {
    throw new SyntaxError(
      `the record ${kind} ${id} is damaged; stop the node and run mfd repair, or restore its database from a backup`,
    );
  }
};

export const configReads = (db: Db): ConfigReads => {
  const {dialect} = db;
  /**
   * The live records of one kind, or those that meet `condition`, ordered by id. Not ordered by the database: SQLite would look at all
   * records of the kind in that order, instead of finding a few with the index for the condition.
   */
  const list = async <K extends Kind>(kind: K, condition = '', values: Values = []): Promise<ReadableOf[K][]> => {
    const sql = `SELECT id, fields FROM config_record WHERE kind = ? AND digest <> ''${condition}`;
    const rows = await query<Pick<Row, 'id' | 'fields'>>(db, sql, [kind, ...values]);
    return rows.map(({id, fields}) => toReadable({kind, id, fields: fieldsIn({kind, id, fields})})).sort((a, b) => a.id - b.id);
  };
  /** All live records of one kind, or those with one of the numbers in `column`. */
  const listBy = async <K extends Kind>(kind: K, column: 'id' | 'parent_id', wanted?: readonly number[]) => {
    if (wanted === undefined) return list(kind);
    if (wanted.length === 0) return [];
    return list(kind, ` AND ${column} IN (${dialect.values('bigint')})`, [dialect.json(wanted)]);
  };
  const listDomains: ConfigReads['listDomains'] = async ids =>
    (await listBy('domain', 'id', ids)).sort((a, b) => ascending(a.name, b.name));

  return {
    listDomains,
    findDomain: async id => (await listDomains([id]))[0],
    listMailFilters: async domainIds => listBy('mail_filter', 'parent_id', domainIds),
    listDkimKeys: async domainIds => listBy('dkim_key', 'parent_id', domainIds),
    listWebhooks: async ids => listBy('webhook', 'id', ids),
    listDigests: async ids => listBy('digest', 'id', ids),
    listApiKeys: async ids => listBy('api_key', 'id', ids),
    async findApiKey(key) {
      if (hasOwn(key, 'id')) return (await listBy('api_key', 'id', [key.id]))[0];
      return (await list('api_key', ' AND unique_key = ?', [key.key_hash]))[0];
    },
    listNodes: async () => list('node'),
    findNode: async nodeNo => (await listBy('node', 'id', [nodeNo]))[0],
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

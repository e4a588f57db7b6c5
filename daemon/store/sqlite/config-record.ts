// The mergeable truth behind every replicated record: each field with the stamp of its last write.
import type {Knex} from 'knex';
import type {Json} from '../../../shared/merge-patch.ts';
import type {Db} from './database.ts';
import {query} from './query.ts';
import {chunksOf} from './rows.ts';

export const kinds = ['node', 'domain', 'api_key', 'mail_filter', 'dkim_key'] as const;
export type Kind = (typeof kinds)[number];

/** A node of a newer version may have records of more kinds. */
export const isKind = (kind: string): kind is Kind => (kinds as readonly string[]).includes(kind);

/** Numbers of one node start here, so that ids need no coordination: node number × 10^9 + local sequence. */
export const idsPerNode = 1_000_000_000;

/** The number of the node that made a record; of a node its own number is the id. */
export const makerOf = ({kind, id}: RecordKey): number => (kind === 'node' ? id : Math.floor(id / idsPerNode));

/** Hybrid logical clock reading as text that sorts: milliseconds, counter, node number, in hex. */
export type Stamp = string;
export type StampedFields = Record<string, [Json, Stamp]>;

export interface RecordKey {
  kind: Kind;
  id: number;
}

export interface ConfigRecord extends RecordKey {
  fields: StampedFields;
  /** Stamp of the deletion: the record is a tombstone for ever. */
  deleted: Stamp | null;
}

export interface StoredRecord extends ConfigRecord {
  /** What at most one live record of the kind may have, such as a domain's name. */
  unique_key: string | null;
  /** The record this one dies with. */
  parent_id: number | null;
  /** Hex SHA-256 of the live values; empty while the record is not live. */
  digest: string;
}

type ConfigRecordRow = Omit<StoredRecord, 'fields'> & {fields: string};

export const findRecord = async (db: Db, {kind, id}: RecordKey): Promise<StoredRecord | undefined> => {
  const row = await db<ConfigRecordRow>('config_record').where({kind, id}).first();
  return row && toRecord(row);
};

export const saveRecords = async (db: Db, records: StoredRecord[]): Promise<void> => {
  for (const some of chunksOf(records))
    await db<ConfigRecordRow>('config_record')
      .insert(some.map(record => ({...record, fields: JSON.stringify(record.fields)})))
      .onConflict(['kind', 'id'])
      .merge();
};

export const recordName = ({kind, id}: RecordKey): string => `${kind}/${id}`;

export const recordsByName = (records: StoredRecord[]): Map<string, StoredRecord> =>
  new Map(records.map(record => [recordName(record), record]));

const joined = (condition: string): string =>
  `SELECT r.* FROM json_each(?) AS wanted CROSS JOIN config_record AS r ON r.kind = wanted.value->>'$.kind' AND ${condition}`;
const byId = joined("r.id = wanted.value->>'$.id'");
const byUniqueKey = joined("r.unique_key = wanted.value->>'$.unique_key'");
const byParent = joined("r.parent_id = wanted.value->>'$.parent_id'");

/** One statement for any number of keys: SQLite takes a limited number of values. */
const findAll = async (db: Db, sql: string, keys: object[]): Promise<StoredRecord[]> => {
  if (keys.length === 0) return [];
  const distinct = [...new Set(keys.map(key => JSON.stringify(key)))];
  return (await query<ConfigRecordRow>(db, sql, [`[${distinct.join(',')}]`])).map(toRecord);
};

/** Those that are there, in no order. */
export const findRecords = async (db: Db, keys: RecordKey[]): Promise<StoredRecord[]> =>
  findAll(
    db,
    byId,
    keys.map(({kind, id}) => ({kind, id})),
  );

/** All that ever had the name of one of `records`, those themselves included; in no order. */
export const recordsWithUniqueKeys = async (
  db: Db,
  records: Pick<StoredRecord, 'kind' | 'unique_key'>[],
): Promise<StoredRecord[]> =>
  findAll(
    db,
    byUniqueKey,
    records.flatMap(({kind, unique_key}) => (unique_key === null ? [] : [{kind, unique_key}])),
  );

export const childrenOf = async (db: Db, kinds: readonly Kind[], parentIds: number[]): Promise<StoredRecord[]> =>
  findAll(
    db,
    byParent,
    parentIds.flatMap(parent_id => kinds.map(kind => ({kind, parent_id}))),
  );

export type RecordDigest = RecordKey & Pick<StoredRecord, 'digest'>;

/** In the order of kind and id, from after `after`. */
export const recordsAfter = async (db: Db, after: RecordKey | undefined, limit: number): Promise<StoredRecord[]> =>
  (await db<ConfigRecordRow>('config_record').modify(following, after).orderBy(['kind', 'id']).limit(limit)).map(toRecord);

/** Of one kind, in the order of their ids, from after `after`. */
export const recordsOfKind = async (
  db: Db,
  kind: Kind,
  {after, limit}: {after: number; limit: number},
): Promise<StoredRecord[]> =>
  (await db<ConfigRecordRow>('config_record').where({kind}).where('id', '>', after).orderBy('id').limit(limit)).map(toRecord);

/** Takes records out that are not what was written: not a deletion, which is a tombstone and told to others. */
export const dropRecord = async (tx: Db, {kind, id}: RecordKey): Promise<void> => {
  const ofKind = tx<ConfigRecordRow>('config_record').where({kind});
  // What a disk has put in the place of an id is no number.
  await (Number.isSafeInteger(id) ? ofKind.where({id}) : ofKind.whereRaw("typeof(id) <> 'integer'")).delete();
};

/** In the order of kind and id, without what the records say. */
export const digestsAfter = async (db: Db, after: RecordKey | undefined, limit: number): Promise<RecordDigest[]> => {
  const rows: RecordDigest[] = await db<ConfigRecordRow>('config_record')
    .modify(following, after)
    .orderBy(['kind', 'id'])
    .limit(limit)
    .select('kind', 'id', 'digest');
  return rows.map(row => ({...row, id: Number(row.id)}));
};

const following = (query: Knex.QueryBuilder, after: RecordKey | undefined): void => {
  if (after) void query.where('kind', '>', after.kind).orWhere(same => same.where('kind', after.kind).where('id', '>', after.id));
};

/** The greatest id of a kind that `nodeNo` has made, tombstones included; undefined when there is none. */
export const greatestId = async (db: Db, kind: Kind, nodeNo: number): Promise<number | undefined> => {
  const row = await db<ConfigRecordRow>('config_record')
    .where({kind})
    .where('id', '>', nodeNo * idsPerNode)
    .where('id', '<', (nodeNo + 1) * idsPerNode)
    .max({id: 'id'})
    .first<{id: number | null}>();
  return row?.id == null ? undefined : Number(row.id);
};

/** Numbers of nodes that were removed. */
export const removedNodeNos = async (db: Db): Promise<number[]> =>
  (await db<ConfigRecordRow>('config_record').where({kind: 'node'}).whereNotNull('deleted').select('id')).map(({id}) =>
    Number(id),
  );

/** The greatest number a node ever had, removed ones included; 0 before the first. */
export const greatestNodeNo = async (db: Db): Promise<number> => {
  const row = await db<ConfigRecordRow>('config_record').where({kind: 'node'}).max({id: 'id'}).first<{id: number | null}>();
  return Number(row?.id ?? 0);
};

const toRecord = (row: ConfigRecordRow): StoredRecord => ({
  ...row,
  id: Number(row.id),
  fields: JSON.parse(row.fields) as StampedFields,
});

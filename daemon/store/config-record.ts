// The mergeable truth behind every replicated record: each field with the stamp of its last write.
import type {Json} from '../../shared/merge-patch.ts';
import type {Db} from './database.ts';

export const kinds = ['node', 'domain', 'api_key', 'mail_filter', 'dkim_key'] as const;
export type Kind = (typeof kinds)[number];

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

export const saveRecord = async (db: Db, record: StoredRecord): Promise<void> => {
  await db<ConfigRecordRow>('config_record')
    .insert({...record, fields: JSON.stringify(record.fields)})
    .onConflict(['kind', 'id'])
    .merge();
};

export const recordsWithUniqueKey = async (db: Db, kind: Kind, uniqueKey: string): Promise<StoredRecord[]> =>
  (await db<ConfigRecordRow>('config_record').where({kind, unique_key: uniqueKey})).map(toRecord);

export const childrenOf = async (db: Db, kinds: Kind[], parentId: number): Promise<RecordKey[]> =>
  db<ConfigRecordRow>('config_record').whereIn('kind', kinds).where({parent_id: parentId}).select('kind', 'id');

const toRecord = (row: ConfigRecordRow): StoredRecord => ({
  ...row,
  id: Number(row.id),
  fields: JSON.parse(row.fields) as StampedFields,
});

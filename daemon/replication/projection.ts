// Projection of mergeable records to the tables that are read.
import type {Domain} from '../../shared/domain.ts';
import {groupBy} from '../../shared/group-by.ts';
import type {MailFilter} from '../../shared/mail-filter.ts';
import {apiKeyTable, type StoredApiKey} from '../store/sqlite/api-key.ts';
import type {Kind, StoredRecord} from '../store/sqlite/config-record.ts';
import type {Db} from '../store/sqlite/database.ts';
import {dkimKeyTable, type StoredDkimKey} from '../store/sqlite/dkim-key.ts';
import {domainTable} from '../store/sqlite/domain.ts';
import {mailFilterTable} from '../store/sqlite/mail-filter.ts';
import {nodeTable, type StoredNode} from '../store/sqlite/node.ts';
import type {Differences, IdRange, RecordTable} from '../store/sqlite/rows.ts';
import type {ChangedRecord} from './changed-record.ts';
import {stampMs} from './clock.ts';
import {knownValues} from './record-values.ts';

/** Fields of every kind as they are stored; `id` and what follows from stamps are added here. */
export interface FieldsOf {
  /** A node says where it listens once it does. */
  node: Omit<StoredNode, 'id' | 'smtp_listen'> & Partial<Pick<StoredNode, 'smtp_listen'>>;
  domain: Omit<Domain, 'id' | 'updated_at'>;
  api_key: Omit<StoredApiKey, 'id'>;
  mail_filter: Omit<MailFilter, 'id'>;
  dkim_key: Omit<StoredDkimKey, 'id'>;
}

type Readable = StoredNode | Domain | StoredApiKey | MailFilter | StoredDkimKey;

const tables = {
  node: nodeTable,
  domain: domainTable,
  api_key: apiKeyTable,
  mail_filter: mailFilterTable,
  dkim_key: dkimKeyTable,
};

/** Brings the tables in step with what has changed. */
export const project = async (tx: Db, changed: ChangedRecord[]): Promise<void> => {
  // Names are freed before they are taken, or the tables' own unique keys would object.
  const gone = changed.filter(
    ({before, after}) => before && isLive(before) && (!isLive(after) || before.unique_key !== after.unique_key),
  );
  for (const [kind, some] of groupBy(gone, ({after}) => after.kind))
    await tables[kind].remove(
      tx,
      some.map(({after}) => after.id),
    );
  const live = changed.map(({after}) => after).filter(isLive);
  for (const [kind, some] of groupBy(live, record => record.kind)) await tableOf(kind).put(tx, some.map(toReadable));
};

/** Where the table of `kind` does not say what the records with ids in `range` say. */
export const compareTable = async (
  db: Db,
  {kind, ...range}: IdRange & {kind: Kind},
  records: StoredRecord[],
): Promise<Differences<Readable>> => tableOf(kind).compare(db, range, records.filter(isLive).map(toReadable));

/** Corrects what was found to be different. */
export const repairTable = async (tx: Db, kind: Kind, {missing, wrong}: Differences<Readable>): Promise<void> => {
  await tableOf(kind).remove(
    tx,
    wrong.map(({id}) => id),
  );
  await tableOf(kind).restore(tx, missing);
};

const isLive = ({digest}: StoredRecord): boolean => digest !== '';

/** What is put into the table of a kind was made from records of that kind. */
const tableOf = (kind: Kind): RecordTable<Readable> => tables[kind] as unknown as RecordTable<Readable>;

/** Of a live record, whose values are right. */
const toReadable = ({kind, id, fields}: StoredRecord): Readable => {
  const values = {id, ...knownValues(kind, fields)};
  return (kind === 'domain' ? {...values, updated_at: lastWriteOf(fields)} : values) as unknown as Readable;
};

const lastWriteOf = (fields: StoredRecord['fields']): string => {
  const last = Object.values(fields)
    .map(([, stamp]) => stamp)
    .sort()
    .at(-1);
  return new Date(stampMs(last ?? '')).toISOString();
};

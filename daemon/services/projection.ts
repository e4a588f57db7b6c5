// From a mergeable record to the table it is read from, and away again.
import type {Domain} from '../../shared/domain.ts';
import type {MailFilter} from '../../shared/mail-filter.ts';
import {putApiKey, removeApiKey, type StoredApiKey} from '../store/api-key.ts';
import type {ConfigRecord, Kind} from '../store/config-record.ts';
import type {Db} from '../store/database.ts';
import {putDkimKey, removeDkimKey, type StoredDkimKey} from '../store/dkim-key.ts';
import {putDomain, removeDomain} from '../store/domain.ts';
import {putMailFilter, removeMailFilter} from '../store/mail-filter.ts';
import {putNode, removeNode, type StoredNode} from '../store/node.ts';
import {stampMs} from './clock.ts';

/** Fields of every kind as they are stored; `id` and what follows from stamps are added here. */
export interface FieldsOf {
  node: Omit<StoredNode, 'id'>;
  domain: Omit<Domain, 'id' | 'updated_at'>;
  api_key: Omit<StoredApiKey, 'id'>;
  mail_filter: Omit<MailFilter, 'id'>;
  dkim_key: Omit<StoredDkimKey, 'id'>;
}

type Projection = {[K in Kind]: {put(db: Db, record: ConfigRecord): Promise<void>; remove(db: Db, id: number): Promise<void>}};

const projections: Projection = {
  node: {put: async (db, record) => putNode(db, {id: record.id, ...valuesOf<'node'>(record)}), remove: removeNode},
  domain: {
    put: async (db, record) => putDomain(db, {id: record.id, ...valuesOf<'domain'>(record), updated_at: lastWriteOf(record)}),
    remove: removeDomain,
  },
  api_key: {put: async (db, record) => putApiKey(db, {id: record.id, ...valuesOf<'api_key'>(record)}), remove: removeApiKey},
  mail_filter: {
    put: async (db, record) => putMailFilter(db, {id: record.id, ...valuesOf<'mail_filter'>(record)}),
    remove: removeMailFilter,
  },
  dkim_key: {put: async (db, record) => putDkimKey(db, {id: record.id, ...valuesOf<'dkim_key'>(record)}), remove: removeDkimKey},
};

export const project = async (db: Db, record: ConfigRecord): Promise<void> => projections[record.kind].put(db, record);

export const unproject = async (db: Db, record: ConfigRecord): Promise<void> => projections[record.kind].remove(db, record.id);

/** Only called for complete records, whose fields went through the kind's schema when they were written. */
const valuesOf = <K extends Kind>({fields}: ConfigRecord): FieldsOf[K] =>
  Object.fromEntries(Object.entries(fields).map(([name, [value]]) => [name, value])) as unknown as FieldsOf[K];

const lastWriteOf = ({fields}: ConfigRecord): string => {
  const last = Object.values(fields)
    .map(([, stamp]) => stamp)
    .sort()
    .at(-1);
  return new Date(stampMs(last ?? '')).toISOString();
};

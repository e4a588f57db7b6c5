import type {Domain} from '../../../shared/domain.ts';
import type {Db} from './database.ts';
import {query} from './query.ts';
import {recordTable} from './rows.ts';

type DomainRow = Omit<Domain, 'active' | 'backend_servers' | 'dkim_active' | 'dmarc_reporting' | 'tenant_id'> & {
  active: boolean | number;
  backend_servers: string;
  dkim_active: boolean | number;
  dmarc_reporting: boolean | number;
  tenant_id: string;
};

export const domainTable = recordTable<Domain>({
  name: 'domain',
  unique: ['name'],
  toRow: domain => toRow(domain),
});

const toRow = (domain: Domain): DomainRow => ({
  ...domain,
  backend_servers: JSON.stringify(domain.backend_servers),
  tenant_id: JSON.stringify(domain.tenant_id),
});

const named = 'SELECT * FROM domain WHERE id IN (SELECT value FROM json_each(?))';

/** Those that are there, in no order. */
export const findDomains = async (db: Db, ids: number[]): Promise<Domain[]> =>
  ids.length === 0 ? [] : (await query<DomainRow>(db, named, [JSON.stringify(ids)])).map(toDomain);

export const findDomain = async (db: Db, id: number): Promise<Domain | undefined> => (await findDomains(db, [id]))[0];

/** All domains by name. */
export const listDomains = async (db: Db): Promise<Domain[]> => (await db<DomainRow>('domain').orderBy('name')).map(toDomain);

const toDomain = (row: DomainRow): Domain => ({
  id: Number(row.id),
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

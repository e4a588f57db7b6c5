// Reads of configuration, from the readable tables.
import type {Domain} from '../../../shared/domain.ts';
import type {MailFilter} from '../../../shared/mail-filter.ts';
import type {ConfigReads} from '../../services/ports.ts';
import type {StoredApiKey, StoredDkimKey, StoredNode} from '../../services/records.ts';
import type {Db} from './database.ts';
import {readState} from './local-state.ts';
import {query} from './query.ts';

export const configReads = (db: Db): ConfigReads => {
  /** All rows, or only those with one of the values in `column`. */
  const list = async <R>(table: string, column: string, values: readonly number[] | undefined, order = 'id'): Promise<R[]> => {
    if (values === undefined) return query<R>(db, `SELECT * FROM ${table} ORDER BY ${order}`);
    if (values.length === 0) return [];
    const named = `${column} IN (SELECT value FROM json_each(?))`;
    return query<R>(db, `SELECT * FROM ${table} WHERE ${named} ORDER BY ${order}`, [JSON.stringify(values)]);
  };
  const listDomains: ConfigReads['listDomains'] = async ids => (await list<DomainRow>('domain', 'id', ids, 'name')).map(toDomain);

  return {
    listDomains,
    findDomain: async id => (await listDomains([id]))[0],
    listMailFilters: async domainIds => list<MailFilter>('mail_filter', 'domain_id', domainIds),
    listDkimKeys: async domainIds => list<StoredDkimKey>('dkim_key', 'domain_id', domainIds),
    listApiKeys: async ids => list<StoredApiKey>('api_key', 'id', ids),
    async findApiKey(key) {
      const [column, value] = 'id' in key ? ['id', key.id] : ['key_hash', key.key_hash];
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

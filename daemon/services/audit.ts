import type {AuditEntry} from '../../shared/audit-entry.ts';
import type {AuditQuery} from '../../shared/hold-filter.ts';
import {listAudit} from '../store/audit.ts';
import type {Database} from '../store/database.ts';

export interface Audit {
  list(query: AuditQuery): Promise<{entries: AuditEntry[]; total: number}>;
}

export const createAudit = ({database, nodeId}: {database: Database; nodeId: string}): Audit => ({
  async list(query) {
    const {entries, total} = await listAudit(database.read, query);
    return {entries: entries.map(entry => ({node_id: nodeId, ...entry})), total};
  },
});

// Records as this node serves them to other nodes, page by page.
import {vectorOf} from '../services/cluster/peer-protocol.ts';
import type {Replication} from '../services/cluster/replication-ports.ts';
import type {NodeStore} from '../services/node-store.ts';
import type {ConfigRecord, RecordKey} from '../services/records.ts';

const recordsPerPage = 250;
const digestsPerPage = 5000;

interface Needs {
  store: Pick<NodeStore, 'records'>;
  applied: Replication['applied'];
}

export const createServedRecords = ({
  store: {records},
  applied,
}: Needs): Pick<Replication, 'recordsPage' | 'digestsPage' | 'records'> => ({
  async recordsPage(after) {
    // Read before the records: later changes are in the outboxes.
    const vector = vectorOf(await applied());
    const page = await records.after(after, recordsPerPage);
    return {
      applied: vector,
      records: page.map(({kind, id, fields, deleted}) => ({kind, id, fields, deleted})),
      next: page.length === recordsPerPage ? keyOf(page.at(-1)) : null,
    };
  },

  async digestsPage(after) {
    const page = await records.digestsAfter(after, digestsPerPage);
    return {
      digests: page.map(({kind, id, digest}) => [kind, id, digest]),
      next: page.length === digestsPerPage ? keyOf(page.at(-1)) : null,
    };
  },

  async records(keys) {
    const found = await Promise.all(keys.map(async key => records.find(key)));
    return found.flatMap((record): ConfigRecord[] => {
      if (!record) return [];
      const {kind, id, fields, deleted} = record;
      return [{kind, id, fields, deleted}];
    });
  },
});

const keyOf = (record: RecordKey | undefined): RecordKey | null => (record ? {kind: record.kind, id: record.id} : null);

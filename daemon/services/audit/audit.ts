// Who did what, on every node: each keeps the log of what was done there.

import type {AuditEntry} from '../../../shared/audit-entry.ts';
import type {AuditQuery, Page} from '../../../shared/hold-filter.ts';
import type {Actor, AuditLog, AuditPlace, Store} from '../ports.ts';
import type {AskAll, Gathered} from '../quarantine/gather.ts';
import {readMerged, type Steps} from '../quarantine/merged-list.ts';
import {createPageShares} from '../quarantine/page-shares.ts';

export interface Audit {
  /** Newest first; at the same time by node, and there the later entry first. */
  list(actor: Actor, query: AuditQuery): Promise<Gathered<{entries: AuditEntry[]; total: number}>>;
}

interface Needs {
  /** The logs of all nodes, asked anew for every request. */
  logs(): AuditLog[];
  ask: AskAll;
}

export const createAudit = ({logs, ask}: Needs): Audit => {
  const shares = createPageShares();
  return {
    async list(actor, {limit, offset, ...filter}) {
      const parts = logs().map(log => ({
        nodeId: log.nodeId,
        list: async (page: Page) => log.list(filter, page, actor),
        marks: async (steps: Steps) => log.marks(filter, steps, actor),
        rank: async (place: AuditPlace) => log.rank(filter, place, actor),
      }));
      return readMerged({parts, compare: newestFirst, ask, shares}, {limit, offset});
    },
  };
};

/** This node's own log. */
export const createAuditLog = ({store, nodeId}: {store: Pick<Store, 'audit'>; nodeId: string}): AuditLog => ({
  nodeId,

  async list(filter, page) {
    const {entries, total} = await store.audit.list(filter, page);
    return {entries: entries.map(entry => ({node_id: nodeId, ...entry})), total};
  },

  async marks(filter, steps) {
    const {marks, total} = await store.audit.marks(filter, steps);
    return {marks: marks.map(mark => ({...mark, node_id: nodeId})), total};
  },

  async rank(filter, {at, node_id, seq}) {
    const among = nodeId === node_id ? {after: seq} : nodeId < node_id ? 'all' : 'none';
    return store.audit.rank(filter, {at, among});
  },
});

const newestFirst = (a: AuditPlace, b: AuditPlace): number =>
  compare(b.at, a.at) || compare(a.node_id, b.node_id) || b.seq - a.seq;

const compare = (a: string, b: string): number => (a < b ? -1 : Number(a > b));

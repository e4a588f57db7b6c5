// Audit logs of all nodes, merged into one list. Each node stores the log of its own actions.

import type {AuditEntry} from '../../../shared/audit-entry.ts';
import {ascending} from '../../../shared/collections.ts';
import type {AuditQuery, Page} from '../../../shared/hold-filter.ts';
import type {Actor} from '../actor.ts';
import type {AskAll, Gathered} from '../peers/gather.ts';
import {readMerged, type Steps} from '../peers/merged-list.ts';
import type {AuditCursor, AuditLog, Store} from '../ports.ts';

export interface Audit {
  /** Ordered by time, newest first, then by node, then by sequence number, newest first. */
  list(actor: Actor, query: AuditQuery): Promise<Gathered<{entries: AuditEntry[]; total: number}>>;
}

interface Needs {
  /** The logs of all current nodes; called for every request. */
  logs(): AuditLog[];
  ask: AskAll;
}

export const createAudit = ({logs, ask}: Needs): Audit => ({
  async list(actor, {limit, offset, ...filter}) {
    const parts = logs().map(log => ({
      nodeId: log.nodeId,
      list: async (page: Page) => log.list(filter, page, actor),
      samples: async (steps: Steps) => log.samples(filter, steps, actor),
      positionOf: async (cursor: AuditCursor) => log.positionOf(filter, cursor, actor),
    }));
    return readMerged({parts, compare: newestFirst, ask}, {limit, offset});
  },
});

/** The log in a store that all nodes share, which has the entries of all of them. */
export const createCommonAudit = (log: AuditLog): Audit => ({
  list: async (actor, {limit, offset, ...filter}) => ({result: await log.list(filter, {limit, offset}, actor), unreachable: []}),
});

/** The log of this node. */
export const createAuditLog = ({store, nodeId}: {store: Pick<Store, 'audit'>; nodeId: string}): AuditLog => ({
  nodeId,

  async list(filter, page) {
    const {entries, total} = await store.audit.list(filter, page);
    return {entries: entries.map(entry => ({node_id: nodeId, ...entry})), total};
  },

  async samples(filter, steps) {
    const {marks, total} = await store.audit.samples(filter, steps);
    return {marks: marks.map(mark => ({node_id: nodeId, ...mark})), total};
  },

  positionOf: async (filter, cursor) => store.audit.positionOf(filter, cursor, nodeId),
});

const newestFirst = (a: AuditCursor, b: AuditCursor): number =>
  ascending(b.at, a.at) || ascending(a.node_id, b.node_id) || b.seq - a.seq;

// Replication without the network: the events and records that this node sends, and those that it applies.
import {Fault} from '../../shared/fault.ts';
import {type ReplicationEvent, vectorOf} from '../services/cluster/peer-protocol.ts';
import type {Replication} from '../services/cluster/replication-ports.ts';
import {crashPoint} from '../services/crash-point.ts';
import type {NodeStore, NodeTransaction, RecordReads} from '../services/node-store.ts';
import {hasIdOfDomain, idsPerNode, kinds, makerOf, type RecordKey, replicatedPart} from '../services/records.ts';
import {createApplyRemote} from './apply-remote.ts';
import {stampNodeNo, stampsOf} from './clock.ts';
import type {Configuration} from './configuration.ts';

interface Needs {
  store: NodeStore;
  configuration: Configuration;
  nodeNo: number;
  /** The number of this node's newest event when the process began. */
  begunAt?: number;
  /** The number of another node's newest event, as it last reported; undefined before its first heartbeat. */
  lastSeqOf?(nodeNo: number): number | undefined;
  now?: () => number;
  /** The name of a node for display, or its number when no name is known here. */
  nameOf?(nodeNo: number): string;
}

export const createReplication = ({
  store,
  configuration,
  nodeNo,
  begunAt = Number.MAX_SAFE_INTEGER,
  lastSeqOf = () => undefined,
  now = Date.now,
  nameOf = no => `node number ${no}`,
}: Needs): Replication => {
  const applyRemote = createApplyRemote({store, configuration, nodeNo, now, nameOf});

  const applied: Replication['applied'] = async () => (await store.applied.all()).set(nodeNo, await store.outbox.last());

  return {
    ...createServedRecords({store, applied}),
    ...createSequenceRecovery({store, begunAt}),
    applied,
    lastSeq: async () => store.outbox.last(),

    async batchAfter(after, limits) {
      const {floor, entries} = await store.outbox.after(after, limits);
      return {floor, events: entries as ReplicationEvent[]};
    },

    async receive(node, {floor, events}) {
      const {nodeNo: origin} = node;
      requireOwnChanges(origin, events);
      await requireNewNodes(store.records, origin, events);
      const before = await store.applied.of(origin);
      if (before < floor) return {applied: before, hasGap: true, leftOut: ''};
      const fresh = events.filter(({seq}) => seq > before);
      const isNext = fresh.every(({seq}, n) => seq === before + 1 + n);
      const last = fresh.at(-1)?.seq;
      if (!isNext || last === undefined) return {applied: before, hasGap: false, leftOut: ''};
      crashPoint('apply.before');
      const {leftOut} = await applyRemote(
        fresh.flatMap(({event}) => event.changes),
        {node, path: 'events'},
        async tx => tx.applied.note(origin, last),
      );
      crashPoint('apply.after');
      return {applied: last, hasGap: false, leftOut};
    },

    merge: async (records, source) => (records.length > 0 ? applyRemote(records, source) : {changed: [], leftOut: ''}),

    async caughtUp(applied) {
      const note = async (tx: NodeTransaction): Promise<void> => {
        for (const [origin, seq] of Object.entries(applied)) {
          // The origin itself knows best how many events it has; missing events are then fetched from it.
          const most = lastSeqOf(Number(origin)) ?? seq;
          if (Number(origin) !== nodeNo) await tx.applied.note(Number(origin), Math.min(seq, most));
        }
        // This database may have forgotten some ids; they must not be used again.
        for (const kind of kinds) {
          const greatest = ((await tx.records.greatestId(kind, nodeNo)) ?? 0) % idsPerNode;
          if (greatest - (await tx.sequences.last(kind)) < mostForgotten) await tx.sequences.raise(kind, greatest);
        }
      };
      await configuration.applyRemote({changes: [], note});
    },

    async prune(upTo, limit) {
      const last = await store.outbox.last();
      const to = Math.min(last, Math.max(upTo, last - limit));
      if (to <= (await store.outbox.floor())) return 0;
      return store.transaction(async tx => tx.outbox.prune(to));
    },
  };
};

/**
 * Events may contain only the sender's own changes: their stamps end in its number, new records have ids from its range or that of their
 * domain, and of all nodes it describes only itself. Every node may admit and remove other nodes.
 */
const requireOwnChanges = (origin: number, events: ReplicationEvent[]): void => {
  for (const {event} of events)
    for (const change of event.changes) {
      const {kind, id, fields, deleted} = change;
      const isCreation = Object.hasOwn(fields, 'created_at');
      if (!stampsOf(change).every(stamp => stampNodeNo(stamp) === origin))
        throw new Fault('validation_failed', `an event of node number ${origin} has stamps of another node`);
      const isOthers =
        kind === 'node'
          ? id !== origin && !isCreation && deleted === null
          : isCreation && !hasIdOfDomain(kind) && makerOf({kind, id}) !== origin;
      if (isOthers) throw new Fault('validation_failed', `an event of node number ${origin} speaks for another: ${kind} ${id}`);
    }
};

/** A node may admit a new node but must not overwrite a known one: a node's record is its own. */
const requireNewNodes = async (records: RecordReads, origin: number, events: ReplicationEvent[]): Promise<void> => {
  for (const {event} of events)
    for (const {kind, id, fields} of event.changes) {
      if (kind !== 'node' || id === origin || !fields.created_at) continue;
      const known = (await records.find({kind, id}))?.fields.created_at;
      if (known && known[1] !== fields.created_at[1])
        throw new Fault('validation_failed', `an event of node number ${origin} speaks for another: ${kind} ${id}`);
    }
};

const recordsPerPage = 250;
const digestsPerPage = 5000;

interface ServedRecordsNeeds {
  store: Pick<NodeStore, 'records'>;
  applied: Replication['applied'];
}

const createServedRecords = ({
  store: {records},
  applied,
}: ServedRecordsNeeds): Pick<Replication, 'recordsPage' | 'digestsPage' | 'records'> => ({
  async recordsPage(after) {
    // Read before the records: later changes are in the outboxes.
    const vector = vectorOf(await applied());
    const page = await records.after(after, recordsPerPage);
    return {
      applied: vector,
      records: page.map(replicatedPart),
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

  records: async keys => (await records.findAll(keys)).map(replicatedPart),
});

const keyOf = (record: RecordKey | undefined): RecordKey | null => (record ? {kind: record.kind, id: record.id} : null);

const skippedIds = 100_000;
/** More than a node can write between a backup and its restoration. */
const mostForgotten = 10_000_000;

interface SequenceRecoveryNeeds {
  store: NodeStore;
  /** The number of this node's newest event when the process began. */
  begunAt: number;
}

const createSequenceRecovery = ({
  store,
  begunAt,
}: SequenceRecoveryNeeds): Pick<Replication, 'recover' | 'checkFirstAcknowledgement' | 'skipIds'> => {
  const requirePossible = async (seq: number): Promise<void> => {
    const last = await store.outbox.last();
    if (seq - last > mostForgotten)
      throw new Fault('validation_failed', `a node claims to know event ${seq} of this one, which has come to ${last}`);
  };

  return {
    async recover(seq) {
      await requirePossible(seq);
      await store.transaction(async tx => {
        if (seq > (await tx.outbox.last())) await tx.outbox.renumber(seq);
      });
    },

    async checkFirstAcknowledgement(seq) {
      if (seq <= begunAt) return false;
      await requirePossible(seq);
      await store.transaction(async tx => {
        if (seq > (await tx.outbox.floor())) await tx.outbox.renumber(Math.max(seq, await tx.outbox.last()));
      });
      return true;
    },

    async skipIds() {
      await store.transaction(async tx => {
        for (const kind of kinds) await tx.sequences.raise(kind, (await tx.sequences.last(kind)) + skippedIds);
      });
    },
  };
};

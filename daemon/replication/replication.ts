// Both ends of replication without the wire: the events and records that this node sends, and those that it applies.
import {Fault} from '../../shared/fault.ts';
import {crashPoint} from '../services/crash-point.ts';
import type {NodeIdentity} from '../services/ports.ts';
import {listApplied, readApplied, writeApplied} from '../store/sqlite/applied.ts';
import {
  digestsAfter,
  findRecord,
  greatestId,
  idsPerNode,
  kinds,
  makerOf,
  type RecordKey,
  recordsAfter,
} from '../store/sqlite/config-record.ts';
import type {Database, Db} from '../store/sqlite/database.ts';
import {raiseSequence, readSequence} from '../store/sqlite/local-state.ts';
import {lastOutboxSeq, outboxAfter, outboxFloor, pruneOutbox, renumberOutbox} from '../store/sqlite/outbox.ts';
import type {Change} from './apply.ts';
import {type Applied, createApplyRemote} from './apply-remote.ts';
import type {Configuration} from './configuration.ts';
import {type DigestsPage, type EventsRequest, type RecordsPage, type ReplicationEvent, vectorOf} from './peer-protocol.ts';
import type {ChangeSource} from './remote-changes.ts';

export interface Replication {
  /** The number of this node's newest event. */
  lastSeq(): Promise<number>;
  /** Events after `after`, at most so many and so long together, and the number up to which there are none any more. */
  batchAfter(after: number, limits: {limit: number; maxChars: number}): Promise<EventsRequest>;
  /**
   * Applies what `origin` has changed, in one transaction with the note of how far that goes. What was applied before is
   * acknowledged again. Resolves with how far that is; `hasGap` when older events are gone there; `leftOut` names the writes that
   * were dated too far ahead and not applied.
   */
  receive(origin: NodeIdentity, request: EventsRequest): Promise<{applied: number; hasGap: boolean; leftOut: string}>;
  /** How far this node has applied the events of each node, itself included. */
  applied(): Promise<Map<number, number>>;
  recordsPage(after: RecordKey | undefined): Promise<RecordsPage>;
  digestsPage(after: RecordKey | undefined): Promise<DigestsPage>;
  records(keys: RecordKey[]): Promise<Change[]>;
  /** Merges records as another node serves them, as far as it is believed. */
  merge(records: Change[], source: ChangeSource): Promise<Applied>;
  /** After a whole snapshot: notes how far the node it came from had applied the others, and goes on counting after all of it. */
  caughtUp(applied: Record<string, number>): Promise<void>;
  /**
   * Somebody has applied more of this node's events than there have been: its database has gone back in time. A number that no
   * node can have come to is not believed: a Fault `validation_failed`.
   */
  recover(told: number): Promise<void>;
  /**
   * How far a peer has come, before it was told anything by this process. Beyond where this node began: its database has gone
   * back in time, and has given the same numbers to other events since. Resolves with whether that is so.
   */
  firstWord(told: number): Promise<boolean>;
  /**
   * For a start without word from every peer: should the database have gone back in time, ids that were given since are left
   * out by a wide margin.
   */
  skipIds(): Promise<void>;
  /** Forgets events that every peer has, `upTo` the one that has least; and more than `limit` in any case. */
  prune(upTo: number, limit: number): Promise<number>;
}

interface Needs {
  database: Database;
  configuration: Configuration;
  nodeNo: number;
  /** The number of this node's newest event when the process began. */
  begunAt?: number;
  /** What another node last said of its own newest event; undefined when it was never heard. */
  lastSeqOf?(nodeNo: number): number | undefined;
  now?: () => number;
  /** For people: the name of a node, or its number where it has none here. */
  nameOf?(nodeNo: number): string;
}

const skippedIds = 100_000;
/** More than a node can have done between a backup and its restoration. */
const mostForgotten = 10_000_000;
const recordsPerPage = 250;
const digestsPerPage = 5000;

export const createReplication = ({
  database,
  configuration,
  nodeNo,
  begunAt = Number.MAX_SAFE_INTEGER,
  lastSeqOf = () => undefined,
  now = Date.now,
  nameOf = no => `node number ${no}`,
}: Needs): Replication => {
  const applyRemote = createApplyRemote({database, configuration, nodeNo, now, nameOf});

  const requirePossible = async (told: number): Promise<void> => {
    const last = await lastOutboxSeq(database.read);
    if (told - last > mostForgotten)
      throw new Fault('validation_failed', `a node claims to know event ${told} of this one, which has come to ${last}`);
  };

  return {
    lastSeq: async () => lastOutboxSeq(database.read),

    async batchAfter(after, limits) {
      const {floor, entries} = await outboxAfter(database.read, after, limits);
      return {floor, events: entries.map(entry => entry as ReplicationEvent)};
    },

    async receive(node, {floor, events}) {
      const {nodeNo: origin} = node;
      requireOwnChanges(origin, events);
      await requireNewNodes(database, origin, events);
      const before = await readApplied(database.read, origin);
      if (before < floor) return {applied: before, hasGap: true, leftOut: ''};
      const fresh = events.filter(({seq}) => seq > before);
      const isNext = fresh.every(({seq}, n) => seq === before + 1 + n);
      const last = fresh.at(-1)?.seq;
      if (!isNext || last === undefined) return {applied: before, hasGap: false, leftOut: ''};
      crashPoint('apply.before');
      const {leftOut} = await applyRemote(
        fresh.flatMap(({event}) => event.changes),
        {node, path: 'events'},
        async tx => writeApplied(tx, origin, last),
      );
      crashPoint('apply.after');
      return {applied: last, hasGap: false, leftOut};
    },

    async applied() {
      const applied = await listApplied(database.read);
      return applied.set(nodeNo, await lastOutboxSeq(database.read));
    },

    async recordsPage(after) {
      const applied = await this.applied();
      const records = await recordsAfter(database.read, after, recordsPerPage);
      return {
        applied: vectorOf(applied),
        records: records.map(({kind, id, fields, deleted}) => ({kind, id, fields, deleted})),
        next: records.length === recordsPerPage ? keyOf(records.at(-1)) : null,
      };
    },

    async digestsPage(after) {
      const digests = await digestsAfter(database.read, after, digestsPerPage);
      return {
        digests: digests.map(({kind, id, digest}) => [kind, id, digest]),
        next: digests.length === digestsPerPage ? keyOf(digests.at(-1)) : null,
      };
    },

    async records(keys) {
      const found = await Promise.all(keys.map(async key => findRecord(database.read, key)));
      return found.flatMap(record => {
        if (!record) return [];
        const {kind, id, fields, deleted} = record;
        return [{kind, id, fields, deleted}];
      });
    },

    merge: async (records, source) => (records.length > 0 ? applyRemote(records, source) : {changed: [], leftOut: ''}),

    async caughtUp(applied) {
      const note = async (tx: Db): Promise<void> => {
        for (const [origin, seq] of Object.entries(applied)) {
          // Nobody knows better how far a node has come than the node itself; what is missing then comes from there again.
          const most = lastSeqOf(Number(origin)) ?? seq;
          if (Number(origin) !== nodeNo) await writeApplied(tx, Number(origin), Math.min(seq, most));
        }
        // Ids of records that this database did not know any more must not be given again.
        for (const kind of kinds) {
          const greatest = ((await greatestId(tx, kind, nodeNo)) ?? 0) % idsPerNode;
          if (greatest - (await readSequence(tx, kind)) < mostForgotten) await raiseSequence(tx, kind, greatest);
        }
      };
      await configuration.applyRemote({changes: [], note});
    },

    async recover(told) {
      await requirePossible(told);
      await database.transaction(async tx => {
        if (told > (await lastOutboxSeq(tx))) await renumberOutbox(tx, told);
      });
    },

    async firstWord(told) {
      if (told <= begunAt) return false;
      await requirePossible(told);
      await database.transaction(async tx => {
        if (told > (await outboxFloor(tx))) await renumberOutbox(tx, Math.max(told, await lastOutboxSeq(tx)));
      });
      return true;
    },

    async skipIds() {
      await database.transaction(async tx => {
        for (const kind of kinds) await raiseSequence(tx, kind, (await readSequence(tx, kind)) + skippedIds);
      });
    },

    async prune(upTo, limit) {
      const last = await lastOutboxSeq(database.read);
      const to = Math.min(last, Math.max(upTo, last - limit));
      if (to <= (await outboxFloor(database.read))) return 0;
      return database.transaction(async tx => pruneOutbox(tx, to));
    },
  };
};

/**
 * A node tells of its own changes only: their stamps end in its number, what it creates has ids of its own, and of the nodes
 * it describes itself. Letting others in, and removing them, is everybody's.
 */
const requireOwnChanges = (origin: number, events: ReplicationEvent[]): void => {
  const suffix = `.${origin.toString(16).padStart(4, '0')}`;
  for (const {event} of events)
    for (const {kind, id, fields, deleted} of event.changes) {
      const stamps = [...Object.values(fields).map(([, stamp]) => stamp), ...(deleted === null ? [] : [deleted])];
      const isCreation = Object.hasOwn(fields, 'created_at');
      if (!stamps.every(stamp => stamp.endsWith(suffix)))
        throw new Fault('validation_failed', `an event of node number ${origin} has stamps of another node`);
      if (kind === 'node' ? id !== origin && !isCreation && deleted === null : isCreation && makerOf({kind, id}) !== origin)
        throw new Fault('validation_failed', `an event of node number ${origin} speaks for another: ${kind} ${id}`);
    }
};

/** Letting a node in is not describing it anew: its record is its own from then on. */
const requireNewNodes = async ({read}: Database, origin: number, events: ReplicationEvent[]): Promise<void> => {
  for (const {event} of events)
    for (const {kind, id, fields} of event.changes) {
      if (kind !== 'node' || id === origin || !fields.created_at) continue;
      const known = (await findRecord(read, {kind, id}))?.fields.created_at;
      if (known && known[1] !== fields.created_at[1])
        throw new Fault('validation_failed', `an event of node number ${origin} speaks for another: ${kind} ${id}`);
    }
};

const keyOf = (record: RecordKey | undefined): RecordKey | null => (record ? {kind: record.kind, id: record.id} : null);

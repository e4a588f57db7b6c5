// One transaction of the configuration. What changes in it is merged in memory and written at its end, or before somebody looks into
// the tables: many changes together cost little more than one.
import {appendAudit, type NewAuditEntry} from '../store/audit.ts';
import {
  type ConfigRecord,
  type Kind,
  type RecordKey,
  type Stamp,
  type StoredRecord,
  saveRecords,
} from '../store/config-record.ts';
import type {Db} from '../store/database.ts';
import {appendToOutbox, type OutboxEntry, outboxSequence} from '../store/outbox.ts';
import {latestOf, nextStamp} from './clock.ts';
import {createLocalCache} from './local-cache.ts';
import {hexNumber, mergeChanges} from './merge-changes.ts';
import {project} from './projection.ts';
import {createRecordCache} from './record-cache.ts';
import {type ChangedRecord, loadWorkingSet} from './working-set.ts';

export interface ConfigSession {
  readonly tx: Db;
  /** Moves this node's persistent clock on and reads it. */
  tick(nowMs: number): Promise<Stamp>;
  /** Moves the clock to the latest of stamps that came from elsewhere, see `latestOf`. */
  observe(stamps: Stamp[], nowMs: number): Promise<void>;
  nextId(kind: Kind): Promise<number>;
  /** Those that are there, as the changes so far have left them. */
  find(keys: RecordKey[]): Promise<StoredRecord[]>;
  withUniqueKey(kind: Kind, uniqueKey: string): Promise<StoredRecord[]>;
  /** Merges `changes` and brings digests and hash in step; returns the records that have changed for it. */
  put(changes: ConfigRecord[], nowMs: number): Promise<ChangedRecord[]>;
  /** Leaves one event for the others; returns its number. */
  tell(event: {stamp: Stamp; changes: ConfigRecord[]}): Promise<number>;
  audit(entry: NewAuditEntry): void;
  /** Writes all that is not written yet. */
  flush(): Promise<void>;
}

const names = {clock: 'clock', sum: 'config_sum', changedAt: 'config_changed_at'};

export const openSession = (tx: Db, nodeNo = 0): ConfigSession => {
  const local = createLocalCache(tx, [names.clock, names.sum, `sequence:${outboxSequence}`]);
  const records = createRecordCache(tx);
  const entries: NewAuditEntry[] = [];
  const events: OutboxEntry[] = [];

  const flush = async (): Promise<void> => {
    const changed = records.takeChanged();
    await saveRecords(
      tx,
      changed.map(({after}) => after),
    );
    await project(tx, changed);
    await appendToOutbox(tx, events.splice(0));
    await appendAudit(tx, ...entries.splice(0));
    await local.flush();
  };

  return {
    tx,
    flush,
    find: records.source.find,
    withUniqueKey: async (kind, uniqueKey) => records.source.withUniqueKeys(kind, [uniqueKey]),
    nextId: async kind => local.next(kind),
    audit: entry => void entries.push(entry),

    async tick(nowMs) {
      const stamp = nextStamp(await local.get(names.clock), nowMs, nodeNo);
      local.set(names.clock, stamp);
      return stamp;
    },

    async observe(stamps, nowMs) {
      const latest = latestOf(stamps, nowMs);
      const own = await local.get(names.clock);
      if (latest !== '' && (own === undefined || own < latest)) local.set(names.clock, latest);
    },

    async put(changes, nowMs) {
      const set = await loadWorkingSet(records.source, changes);
      const difference = mergeChanges(set, changes);
      const changed = set.changed();
      records.keep(changed);
      if (difference !== 0n) {
        const sum = hexNumber((await local.get(names.sum)) ?? '') + difference;
        local.set(names.sum, BigInt.asUintN(256, sum).toString(16));
        local.set(names.changedAt, String(nowMs));
      }
      return changed;
    },

    async tell(event) {
      const seq = await local.next(outboxSequence);
      events.push({seq, event});
      return seq;
    },
  };
};

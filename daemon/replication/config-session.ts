// One transaction of the configuration. What changes in it is merged in memory and written at its end, or before somebody looks into
// the tables: many changes together cost little more than one.
import {chained, lastAuditHash, type NewAuditEntry} from '../store/sqlite/audit.ts';
import type {ConfigRecord, Kind, RecordKey, Stamp, StoredRecord} from '../store/sqlite/config-record.ts';
import {writeConfig} from '../store/sqlite/config-write.ts';
import type {Db} from '../store/sqlite/database.ts';
import {type OutboxEntry, outboxSequence} from '../store/sqlite/outbox.ts';
import {latestOf, nextStamp} from './clock.ts';
import {createLocalCache} from './local-cache.ts';
import {hexNumber, mergeChanges} from './merge-changes.ts';
import {project} from './projection.ts';
import {createRecordCache} from './record-cache.ts';
import {type ChangedRecord, loadWorkingSet} from './working-set.ts';

export interface ConfigSession {
  readonly tx: Db;
  /** Reads in one go what is likely to be asked for; `isAudited` when there will be entries. Before anything else. */
  prepare(keys: RecordKey[], expected: {isAudited: boolean}): Promise<void>;
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

  let lastHash: Promise<string> | undefined;

  const flush = async (): Promise<void> => {
    const changed = records.takeChanged();
    const fresh = entries.splice(0);
    const rows = fresh.length === 0 ? [] : chained(await (lastHash ?? lastAuditHash(tx)), fresh);
    // Somebody else may go on with the log before there is more.
    lastHash = undefined;
    const written = await Promise.allSettled([
      writeConfig(tx, {
        records: changed.map(({after}) => after),
        events: events.splice(0),
        entries: rows,
        states: local.takeChanged(),
      }),
      project(tx, changed),
    ]);
    // Not before both are done: a statement that comes after the rollback would commit by itself.
    for (const one of written) if (one.status === 'rejected') throw one.reason;
  };

  return {
    tx,
    flush,
    async prepare(keys, {isAudited}) {
      if (isAudited) {
        lastHash = lastAuditHash(tx);
        // Whoever waits for it hears of it.
        lastHash.catch(() => {});
      }
      await Promise.all([records.source.find(keys), local.get(names.clock), lastHash]);
    },
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

// Correction of stamps that are too far ahead, written by wrong clocks before such writes were rejected. No node accepts an edit
// of such a field, so the stamps are corrected at start and the values stay.
import {nodeEntry} from '../services/audit/stored-entry.ts';
import type {ReplicationEvent} from '../services/cluster/peer-protocol.ts';
import type {NodeStore, NodeTransaction, RecordReads} from '../services/node-store.ts';
import type {StateReads} from '../services/ports.ts';
import type {ConfigRecord, RecordKey, Stamp} from '../services/records.ts';
import {apply} from './apply.ts';
import {formatStamp, isTooFarAhead, mayWriteAt, stampNodeNo, stampsOf} from './clock.ts';

/** The same on every node, at any start: later than earlier writes by correct clocks, and earlier than all new writes. */
const restampedMs = Date.UTC(2026, 10, 20);
const recordsPerPage = 500;

/** Resolves with the number of corrected records and events. If the wall clock cannot be right, nothing is changed. */
export const restampFuture = async (store: NodeStore, nowMs: number): Promise<number> => {
  if (nowMs < restampedMs) return 0;
  const isNeeded = (await hasFutureWrites(store.records, nowMs)) || (await isClockLate(store.state, nowMs));
  if (!isNeeded) return 0;
  return store.transaction(async tx => {
    const count = (await restampRecords(tx, nowMs)) + (await restampOutbox(tx, nowMs));
    if (await isClockLate(tx.state, nowMs)) await tx.state.write('clock', formatStamp(nowMs, 0, 0));
    await tx.audit.append(
      nodeEntry({
        at: new Date(nowMs).toISOString(),
        action: 'config.restamp',
        target: 'configuration',
        detail: `${count} records and events were dated more than a day ahead of this node's clock; their values are as they were`,
      }),
    );
    return count;
  });
};

/** Whether the node's stored clock is too far ahead for new writes. */
const isClockLate = async (state: StateReads, nowMs: number): Promise<boolean> => {
  const clock = await state.read('clock');
  return clock !== undefined && !mayWriteAt(clock, nowMs);
};

const restamped = (stamp: Stamp, nowMs: number): Stamp =>
  isTooFarAhead(stamp, nowMs) ? formatStamp(restampedMs, 0, stampNodeNo(stamp)) : stamp;

const isAffected = (record: ConfigRecord, nowMs: number): boolean => stampsOf(record).some(stamp => isTooFarAhead(stamp, nowMs));

const withRightDates = (record: ConfigRecord, nowMs: number): ConfigRecord => ({
  ...record,
  fields: Object.fromEntries(
    Object.entries(record.fields).map(([name, [value, stamp]]) => [name, [value, restamped(stamp, nowMs)]]),
  ),
  deleted: record.deleted === null ? null : restamped(record.deleted, nowMs),
});

const hasFutureWrites = async (records: RecordReads, nowMs: number): Promise<boolean> => {
  for await (const page of recordPages(records)) if (page.some(record => isAffected(record, nowMs))) return true;
  return false;
};

const restampRecords = async (tx: NodeTransaction, nowMs: number): Promise<number> => {
  let count = 0;
  for await (const page of recordPages(tx.records)) {
    const affected = page.filter(record => isAffected(record, nowMs));
    await apply(
      tx,
      affected.map(record => withRightDates(record, nowMs)),
      nowMs,
      {combine: (_kind, _stored, corrected) => corrected},
    );
    count += affected.length;
  }
  return count;
};

async function* recordPages(records: RecordReads) {
  let after: RecordKey | undefined;
  do {
    const page = await records.after(after, recordsPerPage);
    yield page;
    after = page.length === recordsPerPage ? page.at(-1) : undefined;
  } while (after);
}

/** Other nodes would reject the events that wait in the outbox. */
const restampOutbox = async ({outbox}: NodeTransaction, nowMs: number): Promise<number> => {
  const affected = (await outbox.all()).flatMap(({seq, event}) => {
    const {stamp, changes} = event as ReplicationEvent['event'];
    if (!changes.some(change => isAffected(change, nowMs))) return [];
    return [{seq, event: {stamp: restamped(stamp, nowMs), changes: changes.map(change => withRightDates(change, nowMs))}}];
  });
  await outbox.rewrite(affected);
  return affected.length;
};

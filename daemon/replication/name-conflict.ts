// Name conflicts: two records were created with one name on two sides of a partition. The earlier creation stays (see
// config-merge.ts), and every node sees this at once. The node that made the later record turns it into a tombstone, so that its
// secrets are removed, and writes an audit entry.

import {nodeEntry} from '../services/audit/stored-entry.ts';
import type {ChangedRecord} from '../services/cluster/replication-ports.ts';
import type {RecordReads, RecordTransaction} from '../services/node-store.ts';
import {type Kind, makerOf, type StoredRecord} from '../services/records.ts';
import {apply, type Change} from './apply.ts';
import {mayWriteAt, tick} from './clock.ts';
import {claimsIn, conflictsIn} from './config-merge.ts';

interface Node {
  nodeNo: number;
  now: () => number;
}

const namedKinds: readonly Kind[] = ['domain', 'dkim_key'];

/**
 * Deletes the `changed` records that this node made and that lost their names, inside the transaction that brought the conflict.
 * Returns the number of the resulting outbox event, if any.
 */
export const deleteConflicts = async (
  tx: RecordTransaction,
  changed: ChangedRecord[],
  {nodeNo, now}: Node,
): Promise<number | undefined> => {
  const changes: Change[] = [];
  for (const {after: record} of changed) {
    const winner = makerOf(record) === nodeNo ? await winnerOver(tx.records, record) : undefined;
    if (!winner) continue;
    const stamp = await tick(tx.state, now(), nodeNo);
    // While this node's clock is wrong the tombstone waits: the other nodes would reject it.
    if (!mayWriteAt(stamp, now())) continue;
    const deletion: Change = {kind: record.kind, id: record.id, fields: {}, deleted: stamp};
    // No listener is notified: the record was not live any more.
    await apply(tx, [deletion], now());
    changes.push(deletion);
    await tx.audit.append(
      nodeEntry({
        at: new Date(now()).toISOString(),
        action: `${record.kind === 'domain' ? 'domain' : 'dkim'}.conflict`,
        target: record.unique_key ?? '',
        result: 'conflict',
        detail: `${record.id} was made while ${winner.id} of that name existed on a node out of reach, and has been deleted`,
      }),
    );
  }
  const stamp = changes.at(-1)?.deleted;
  return stamp ? tx.outbox.append({stamp, changes}) : undefined;
};

/** The record that keeps the name, if `record` has lost it. */
const winnerOver = async (records: RecordReads, record: StoredRecord): Promise<StoredRecord | undefined> => {
  if (!namedKinds.includes(record.kind) || record.deleted !== null || record.digest !== '') return undefined;
  const claims = await records.withUniqueKeys([record]);
  const conflicts = conflictsIn(claimsIn(claims));
  return conflicts.has(record.id) ? claims.find(({id}) => !conflicts.has(id)) : undefined;
};

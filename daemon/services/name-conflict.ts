// Two records that were created with one name on two sides of a partition: the earlier creation stays (see config-merge.ts).
// Every node sees that at once; the node that made the later one turns it into a tombstone, so that its secrets go, and says so.
import {appendAudit} from '../store/audit.ts';
import {findRecord, type Kind, makerOf, recordsWithUniqueKeys, type StoredRecord} from '../store/config-record.ts';
import type {Db} from '../store/database.ts';
import {appendToOutbox} from '../store/outbox.ts';
import {apply, type Change, type Touched} from './apply.ts';
import {tick} from './clock.ts';
import {losersOf} from './config-merge.ts';
import {claimsIn} from './merge-changes.ts';

interface Needs {
  tx: Db;
  touched: Touched[];
  nodeNo: number;
  now: () => number;
}

const contested: readonly Kind[] = ['domain', 'dkim_key'];

/** Inside the transaction that brought the rivals together. Returns the number of the event this left in the outbox, if any. */
export const buryLosers = async ({tx, touched, nodeNo, now}: Needs): Promise<number | undefined> => {
  const changes: Change[] = [];
  for (const key of touched) {
    if (!contested.includes(key.kind) || makerOf(key) !== nodeNo) continue;
    const record = await findRecord(tx, key);
    const rival = record && (await rivalOf(tx, record));
    if (!rival) continue;
    const stamp = await tick(tx, now(), nodeNo);
    const change: Change = {kind: key.kind, id: key.id, fields: {}, deleted: stamp};
    // What its deletion touches is what was touched already: it was not live any more.
    await apply(tx, [change], now());
    changes.push(change);
    await appendAudit(tx, {
      at: new Date(now()).toISOString(),
      key_id: null,
      action: `${record.kind === 'domain' ? 'domain' : 'dkim'}.conflict`,
      target: record.unique_key ?? '',
      remote_address: null,
      result: 'conflict',
      detail: `${record.id} was made while ${rival.id} of that name existed on a node out of reach, and has been deleted`,
    });
  }
  const last = changes.at(-1)?.deleted;
  return last ? appendToOutbox(tx, {stamp: last, changes}) : undefined;
};

/** The record that keeps the name, if this one has lost it. */
const rivalOf = async (tx: Db, record: StoredRecord): Promise<StoredRecord | undefined> => {
  if (record.deleted !== null || record.unique_key === null || record.digest !== '') return undefined;
  const claims = await recordsWithUniqueKeys(tx, record.kind, [record.unique_key]);
  const losers = losersOf(claimsIn(claims));
  return losers.has(record.id) ? claims.find(({id}) => !losers.has(id)) : undefined;
};

// Two records that were created with one name on two sides of a partition: the earlier creation stays (see config-merge.ts).
// Every node sees that at once; the node that made the later one turns it into a tombstone, so that its secrets go, and says so.
import {type Kind, makerOf, type StoredRecord} from '../store/sqlite/config-record.ts';
import type {Change, Touched} from './apply.ts';
import {mayWriteAt} from './clock.ts';
import {losersOf} from './config-merge.ts';
import type {ConfigSession} from './config-session.ts';
import {claimsIn} from './merge-changes.ts';

interface Needs {
  session: ConfigSession;
  touched: Touched[];
  nodeNo: number;
  now: () => number;
}

const contested: readonly Kind[] = ['domain', 'dkim_key'];

/** Inside the transaction that brought the rivals together. Returns the number of the event this left in the outbox, if any. */
export const buryLosers = async ({session, touched, nodeNo, now}: Needs): Promise<number | undefined> => {
  const changes: Change[] = [];
  for (const key of touched) {
    if (!contested.includes(key.kind) || makerOf(key) !== nodeNo) continue;
    const [record] = await session.find([key]);
    const rival = record && (await rivalOf(session, record));
    if (!rival) continue;
    const stamp = await session.tick(now());
    // With a clock that is wrong the tombstone waits: the others would leave it out.
    if (!mayWriteAt(stamp, now())) continue;
    const change: Change = {kind: key.kind, id: key.id, fields: {}, deleted: stamp};
    // What its deletion touches is what was touched already: it was not live any more.
    await session.put([change], now());
    changes.push(change);
    session.audit({
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
  return last ? session.tell({stamp: last, changes}) : undefined;
};

/** The record that keeps the name, if this one has lost it. */
const rivalOf = async (session: ConfigSession, record: StoredRecord): Promise<StoredRecord | undefined> => {
  if (record.deleted !== null || record.unique_key === null || record.digest !== '') return undefined;
  const claims = await session.withUniqueKey(record.kind, record.unique_key);
  const losers = losersOf(claimsIn(claims));
  return losers.has(record.id) ? claims.find(({id}) => !losers.has(id)) : undefined;
};

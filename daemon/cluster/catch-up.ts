// Takes everything that is replicated from one peer: for a node that is new, was away too long, or has gone back in time.

import {recordsPageSchema} from '../services/cluster/peer-protocol.ts';
import type {ChangeSource, Replication} from '../services/cluster/replication-ports.ts';
import type {PeerClient} from './peer-client.ts';

const pageMs = 30_000;

/**
 * Merges all records of the peer, tombstones included, page by page. What changes meanwhile comes from the outboxes, as the
 * peer says how far it had come before the first page. Returns how many records there were.
 */
export const catchUp = async (
  {client, source}: {client: PeerClient; source: ChangeSource},
  replication: Replication,
  nodeNo: number,
): Promise<number> => {
  let applied: Record<string, number> | undefined;
  let query = '';
  let count = 0;
  do {
    const page = await client.ask(recordsPageSchema, {method: 'GET', path: `records${query}`, deadlineMs: pageMs});
    applied ??= page.applied;
    // Before anything new is told: it would go by numbers that peers have seen already.
    if (count === 0) await replication.recover(applied[nodeNo] ?? 0);
    await replication.merge(page.records, source);
    count += page.records.length;
    query = page.next ? `?kind=${page.next.kind}&id=${page.next.id}` : '';
  } while (query !== '');
  await replication.caughtUp(applied);
  return count;
};

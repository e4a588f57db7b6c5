// Catch-up: fetches all replicated records from one peer, for a node that is new, was down too long, or was restored from a backup.

import {setTimeout as delay} from 'node:timers/promises';
import type {Logger} from 'pino';
import {Fault} from '../../shared/fault.ts';
import {ownValue} from '../../shared/has-own.ts';
import {afterRecord, messages} from '../services/cluster/peer-protocol.ts';
import type {ChangeSource, Replication} from '../services/cluster/replication-ports.ts';
import {causeOf} from './heartbeats.ts';
import type {PeerClient} from './peer-client.ts';
import type {Peer} from './peers.ts';

interface Needs {
  nodeNo: number;
  replication: Replication;
  onDone(): void;
  log: Logger;
}

const pageMs = 30_000;
const failurePauseMs = 1000;

/** Catch-ups in the background, one at a time for each peer. */
export const createCatchUpRunner = ({nodeNo, replication, onDone, log}: Needs) => {
  const underWay = new Map<number, Promise<boolean>>();
  const stopped = new AbortController();

  const run = async (peer: Peer): Promise<boolean> => {
    const {nodeId, client} = peer;
    try {
      const records = await catchUp({client, source: {node: peer, path: 'snapshot'}}, replication, nodeNo);
      log.info({node: nodeId, records}, 'configuration fetched from another node');
      onDone();
      return true;
    } catch (error) {
      if (stopped.signal.aborted) return false;
      const why = error instanceof Fault ? {detail: causeOf(error)} : {err: error};
      log.warn({node: nodeId, ...why}, 'fetching the configuration from another node failed');
      // The trigger will repeat; the pause keeps it from starting again at once.
      await delay(failurePauseMs, undefined, {ref: false, signal: stopped.signal}).catch(() => {});
      return false;
    }
  };

  return {
    /** Starts a catch-up from the peer, unless one is under way. */
    start(peer: Peer): void {
      if (stopped.signal.aborted || underWay.has(peer.nodeNo)) return;
      underWay.set(
        peer.nodeNo,
        run(peer).finally(() => underWay.delete(peer.nodeNo)),
      );
    },
    /** Waits for all catch-ups under way; resolves with whether all of them succeeded. */
    done: async (): Promise<boolean> => (await Promise.all(underWay.values())).every(Boolean),
    /** Starts no more. A catch-up under way ends when the client of its peer is closed. */
    stop: (): void => stopped.abort(),
  };
};

/**
 * Merges all records of the peer, including tombstones, page by page. Changes during this time come from the outboxes, as the
 * first page has the peer's position before it. Returns the number of records.
 */
export const catchUp = async (
  {client, source}: {client: PeerClient; source: ChangeSource},
  replication: Replication,
  nodeNo: number,
): Promise<number> => {
  let applied: Record<string, number> | undefined;
  const {at, answer} = messages.recordsPage;
  let query = '';
  let count = 0;
  do {
    const page = await client.ask(answer, {...at, path: at.path + query, deadlineMs: pageMs});
    applied ??= page.applied;
    // First: otherwise new events would reuse numbers that peers have already applied.
    if (count === 0) await replication.recover(ownValue(applied, nodeNo) ?? 0);
    await replication.merge(page.records, source);
    count += page.records.length;
    query = afterRecord(page.next);
  } while (query !== '');
  await replication.caughtUp(applied);
  return count;
};

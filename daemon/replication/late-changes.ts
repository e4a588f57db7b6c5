// Fetch of late changes. Every node sends its changes to all others. When a node cannot reach this one, this node fetches the
// missing changes from that node or from any other node that has them.

import {ownValue} from '../../shared/has-own.ts';
import type {NodeDirectory} from '../services/cluster/membership.ts';
import type {PeerStates} from '../services/cluster/peer-states.ts';
import type {RemoteRecords, Replication} from '../services/cluster/replication-ports.ts';
import type {RecordDifferences} from './drift.ts';

export interface LateChanges {
  /**
   * Applies changes that another node has and that have been missing here for some seconds. Tries all peers, then rejects if one
   * failed.
   */
  fetch(peers: readonly RemoteRecords[]): Promise<void>;
}

interface Needs {
  replication: Pick<Replication, 'applied' | 'caughtUp'>;
  directory: Pick<NodeDirectory, 'list'>;
  peerStates: Pick<PeerStates, 'latest' | 'unreached'>;
  differences: Pick<RecordDifferences, 'apply'>;
  nodeNo: number;
  monotonic: () => number;
  onFetched(fetched: {node: string; records: number}): void;
}

/** An event usually arrives within two seconds. */
const lateMs = 5000;

export const createLateChanges = (needs: Needs): LateChanges => {
  const {replication, directory, peerStates, differences, nodeNo, monotonic} = needs;
  /** By node number: the last event of that node that was applied here, and since when this node has been behind. */
  const behind = new Map<number, {applied: number; sinceMs: number}>();

  const appliedBy = (no: number): Record<string, number> => peerStates.latest(no)?.applied ?? {};

  /** The numbers of the nodes whose changes are late. */
  const findLate = async (peers: readonly RemoteRecords[]): Promise<number[]> => {
    const own = await replication.applied();
    const others = directory.list().filter(({id}) => id !== nodeNo);
    for (const {id} of others) {
      const applied = own.get(id) ?? 0;
      if (!peers.some(peer => (ownValue(appliedBy(peer.nodeNo), id) ?? 0) > applied)) behind.delete(id);
      else if (behind.get(id)?.applied !== applied) behind.set(id, {applied, sinceMs: monotonic()});
    }
    return [...behind].filter(([, {sinceMs}]) => monotonic() - sinceMs >= lateMs).map(([id]) => id);
  };

  const fetchFrom = async (peer: RemoteRecords, late: number[]): Promise<void> => {
    const own = await replication.applied();
    // Read before the records: they include everything that the peer reported as applied.
    const has = appliedBy(peer.nodeNo);
    if (!late.some(id => (ownValue(has, id) ?? 0) > (own.get(id) ?? 0))) return;
    const applied = await differences.apply(peer, 'snapshot');
    await replication.caughtUp(has);
    needs.onFetched({node: peer.nodeId, records: applied.length});
  };

  return {
    async fetch(peers) {
      const unreached = peerStates.unreached();
      const reachable = peers.filter(peer => !unreached.includes(peer.nodeNo));
      const late = await findLate(reachable);
      const failures: unknown[] = [];
      for (const peer of late.length === 0 ? [] : reachable) await fetchFrom(peer, late).catch(error => failures.push(error));
      // What is still missing is tried again after the same interval.
      for (const id of late) behind.delete(id);
      if (failures.length > 0) throw failures[0];
    },
  };
};

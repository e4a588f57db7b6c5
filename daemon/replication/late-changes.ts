// Fetch of changes that are late. A node sends its changes to every other one. A node that it cannot reach asks for what it lacks:
// the node itself, or any other one that has it.

import type {NodeDirectory} from '../services/cluster/node-directory.ts';
import type {PeerStates} from '../services/cluster/peer-states.ts';
import type {RemoteRecords, Replication} from '../services/cluster/replication-ports.ts';
import type {RecordDifferences} from './record-differences.ts';

export interface LateChanges {
  /**
   * Applies from the peers what has not come for some seconds although another node has it. Rejects once all were tried, when
   * that failed with some.
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

/** A change that is sent takes a second or two. */
const lateMs = 5000;

export const createLateChanges = (needs: Needs): LateChanges => {
  const {replication, directory, peerStates, differences, nodeNo, monotonic} = needs;
  /** By node number: how far this node has come with the changes of that one, and since when it has been tried in vain. */
  const behind = new Map<number, {applied: number; sinceMs: number}>();

  const appliedBy = (no: number): Record<string, number> => peerStates.latest(no)?.applied ?? {};

  /** The numbers of the nodes whose changes have not come in time. */
  const findLate = async (peers: readonly RemoteRecords[]): Promise<number[]> => {
    const own = await replication.applied();
    const others = directory.list().filter(({id}) => id !== nodeNo);
    for (const {id} of others) {
      const applied = own.get(id) ?? 0;
      if (!peers.some(peer => (appliedBy(peer.nodeNo)[id] ?? 0) > applied)) behind.delete(id);
      else if (behind.get(id)?.applied !== applied) behind.set(id, {applied, sinceMs: monotonic()});
    }
    return [...behind].filter(([, {sinceMs}]) => monotonic() - sinceMs >= lateMs).map(([id]) => id);
  };

  const fetchFrom = async (peer: RemoteRecords, late: number[]): Promise<void> => {
    const own = await replication.applied();
    // Read before the records are: what the peer had applied when it was heard is in them.
    const has = appliedBy(peer.nodeNo);
    if (!late.some(id => (has[id] ?? 0) > (own.get(id) ?? 0))) return;
    const applied = await differences.apply(peer, 'snapshot');
    await replication.caughtUp(has);
    needs.onFetched({node: peer.nodeId, records: applied.length});
  };

  return {
    async fetch(peers) {
      const silent = peerStates.unreached();
      const asked = peers.filter(peer => !silent.includes(peer.nodeNo));
      const late = await findLate(asked);
      const failures: unknown[] = [];
      for (const peer of late.length === 0 ? [] : asked) await fetchFrom(peer, late).catch(error => failures.push(error));
      // What is still missing is tried again when as much time has passed once more.
      for (const id of late) behind.delete(id);
      if (failures.length > 0) throw failures[0];
    },
  };
};

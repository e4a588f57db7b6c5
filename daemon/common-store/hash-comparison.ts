// Comparison of what other nodes have in memory with what this one has. The store is the same for all, so a difference that stays means
// that a node is connected to another database, such as a primary server that has been replaced.
import type {Heartbeat} from '../services/cluster/peer-protocol.ts';
import type {PeerStates} from '../services/cluster/peer-states.ts';

interface Needs {
  ownHash(): string;
  peerStates: Pick<PeerStates, 'compared'>;
  /** How long both hashes have to stay as they are: a change reaches the nodes one after the other. */
  afterMs: number;
  monotonic(): number;
}

export const createHashComparison = ({ownHash, peerStates, afterMs, monotonic}: Needs) => {
  const differing = new Map<number, {hashes: string; sinceMs: number}>();
  return ({node_no, config_hash}: Heartbeat): void => {
    const own = ownHash();
    const known = differing.get(node_no);
    const hashes = `${own} ${config_hash}`;
    if (own === config_hash) {
      differing.delete(node_no);
      peerStates.compared(node_no, true);
    } else if (known?.hashes !== hashes) differing.set(node_no, {hashes, sinceMs: monotonic()});
    else if (monotonic() - known.sinceMs >= afterMs) peerStates.compared(node_no, false);
  };
};

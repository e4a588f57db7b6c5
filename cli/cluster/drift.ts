// Drift of configuration between nodes: whether they differ, and which nodes are the odd ones.
import type {ClusterStatus, Peer} from '../../shared/cluster-status.ts';

export interface Drift {
  /** Configurations differ for a moment after every change, and should not for longer (specification section 3.3). */
  isAlarm: boolean;
  /** Nodes whose configuration differs from that of most nodes. */
  oddNodes: string[];
  /** How long a configuration has differed from that of the answering node. */
  ageSeconds: number;
}

export const defaultDriftSeconds = 600;

/**
 * Compares the nodes that exchange heartbeats with the answering one; the configuration of others is unknown. Drift is an alarm after
 * `alarmAfterSeconds`. Undefined without a difference.
 */
export const driftOf = (status: ClusterStatus, alarmAfterSeconds = defaultDriftSeconds): Drift | undefined => {
  const {peers, local_node_id: localId} = status;
  const known = peers.filter(
    ({node_id, healthy, unanswered_since}) => node_id === localId || (healthy === 'online' && !unanswered_since),
  );
  const groups = new Map<string, string[]>();
  for (const {config_hash, node_id} of known) groups.set(config_hash, [...(groups.get(config_hash) ?? []), node_id]);
  if (groups.size < 2) return undefined;

  const [most = []] = [...groups.values()].sort(
    (a, b) => b.length - a.length || Number(b.includes(localId)) - Number(a.includes(localId)),
  );
  const ageSeconds = Math.max(0, ...known.map(peer => differsFor(peer, status)));
  return {
    isAlarm: ageSeconds > alarmAfterSeconds,
    oddNodes: known.filter(({node_id}) => !most.includes(node_id)).map(({node_id}) => node_id),
    ageSeconds,
  };
};

/** In seconds. Nodes before 0.5 do not report it: the difference is then at least as old as the latest change of either. */
const differsFor = (peer: Peer, {peers, local_node_id, generated_at}: ClusterStatus): number => {
  const since: string | null | undefined = peer.config_differs_since;
  if (since !== undefined) return since === null ? 0 : Math.floor((Date.parse(generated_at) - Date.parse(since)) / 1000);
  const local = peers.find(({node_id}) => node_id === local_node_id);
  if (!local || local.config_hash === peer.config_hash) return 0;
  return Math.min(local.config_hash_age_s, peer.config_hash_age_s);
};

export const shortHash = (hash: string, length = 8): string => hash.replace(/^sha256:/, '').slice(0, length);

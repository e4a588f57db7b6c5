// Whether all nodes have one configuration, and which is the odd one out.
import type {ClusterStatus, Peer} from '../../shared/cluster-status.ts';

export interface Drift {
  /** Configurations differ for a moment after every change; for longer they should not (specification section 3.3). */
  isAlarm: boolean;
  /** Nodes whose configuration is not that of most. */
  oddNodes: string[];
  /** For how long one differs from that of the node that answers. */
  ageSeconds: number;
}

export const usualDriftSeconds = 600;

/**
 * Of the nodes that the answering one hears and that answer it: what another one has nobody knows. It is an alarm after
 * `alarmAfterSeconds`. Undefined when they do not differ.
 */
export const driftOf = (status: ClusterStatus, alarmAfterSeconds = usualDriftSeconds): Drift | undefined => {
  const {peers, local_node_id: localId} = status;
  const heard = peers.filter(
    ({node_id, healthy, unanswered_since}) => node_id === localId || (healthy === 'online' && !unanswered_since),
  );
  const groups = new Map<string, string[]>();
  for (const {config_hash, node_id} of heard) groups.set(config_hash, [...(groups.get(config_hash) ?? []), node_id]);
  if (groups.size < 2) return undefined;

  const [most = []] = [...groups.values()].sort(
    (a, b) => b.length - a.length || Number(b.includes(localId)) - Number(a.includes(localId)),
  );
  const ageSeconds = Math.max(0, ...heard.map(peer => differsFor(peer, status)));
  return {
    isAlarm: ageSeconds > alarmAfterSeconds,
    oddNodes: heard.filter(({node_id}) => !most.includes(node_id)).map(({node_id}) => node_id),
    ageSeconds,
  };
};

/** In seconds. A node of a version before 0.5 does not say: then it is so for as long at least as neither has changed. */
const differsFor = (peer: Peer, {peers, local_node_id, generated_at}: ClusterStatus): number => {
  const since: string | null | undefined = peer.config_differs_since;
  if (since !== undefined) return since === null ? 0 : Math.floor((Date.parse(generated_at) - Date.parse(since)) / 1000);
  const local = peers.find(({node_id}) => node_id === local_node_id);
  if (!local || local.config_hash === peer.config_hash) return 0;
  return Math.min(local.config_hash_age_s, peer.config_hash_age_s);
};

export const shortHash = (hash: string, length = 8): string => hash.replace(/^sha256:/, '').slice(0, length);

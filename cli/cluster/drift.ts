// Whether all nodes have one configuration, and which is the odd one out.
import type {ClusterStatus, Peer} from '../../shared/cluster-status.ts';

export interface Drift {
  /** Hashes differ for a moment after every change; for longer they should not (specification section 3.3). */
  isAlarm: boolean;
  /** Nodes whose configuration is not that of most. */
  oddNodes: string[];
  /** They differ for so long at least: no hash has changed since. */
  ageSeconds: number;
  /** What is held against the limit: the age of the oldest hash, once they have differed for more than a moment. */
  hashAgeSeconds: number;
}

export const usualDriftSeconds = 600;
/** The age of a hash that has not changed for days says nothing of a change that was made elsewhere just now. */
const graceSeconds = 15;

/**
 * `seenSeconds`: for how long whoever asks has seen them differ. It is an alarm when a hash is older than `alarmAfterSeconds`.
 * Undefined when they do not differ.
 */
export const driftOf = (
  peers: readonly Peer[],
  localId: string,
  {seenSeconds = 0, alarmAfterSeconds = usualDriftSeconds} = {},
): Drift | undefined => {
  const groups = new Map<string, string[]>();
  for (const {config_hash, node_id} of peers) groups.set(config_hash, [...(groups.get(config_hash) ?? []), node_id]);
  if (groups.size < 2) return undefined;

  const [most = []] = [...groups.values()].sort(
    (a, b) => b.length - a.length || Number(b.includes(localId)) - Number(a.includes(localId)),
  );
  const ages = peers.map(({config_hash_age_s}) => config_hash_age_s);
  const ageSeconds = Math.max(seenSeconds, Math.min(...ages));
  const hashAgeSeconds = ageSeconds >= Math.min(graceSeconds, alarmAfterSeconds) ? Math.max(...ages) : ageSeconds;
  return {
    isAlarm: hashAgeSeconds > alarmAfterSeconds,
    hashAgeSeconds,
    oddNodes: peers.filter(({node_id}) => !most.includes(node_id)).map(({node_id}) => node_id),
    ageSeconds,
  };
};

/** With how long the dashboard has seen it. */
export const driftSeen = (
  {peers, local_node_id}: Pick<ClusterStatus, 'peers' | 'local_node_id'>,
  {driftSinceMs}: {driftSinceMs: number | undefined},
  nowMs: number,
): Drift | undefined =>
  driftOf(peers, local_node_id, {seenSeconds: driftSinceMs === undefined ? 0 : Math.floor((nowMs - driftSinceMs) / 1000)});

export const shortHash = (hash: string, length = 8): string => hash.replace(/^sha256:/, '').slice(0, length);

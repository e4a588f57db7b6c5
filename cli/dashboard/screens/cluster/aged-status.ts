import type {ClusterStatus} from '../../../../shared/cluster-status.ts';

/** A status that was read `ageMs` ago, with its ages increased by that. */
export const agedStatus = (status: ClusterStatus, ageMs: number): ClusterStatus => {
  const seconds = Math.floor(ageMs / 1000);
  const generatedAt = new Date(Date.parse(status.generated_at) + seconds * 1000);
  if (seconds <= 0 || Number.isNaN(generatedAt.getTime())) return status;
  return {
    ...status,
    generated_at: generatedAt.toISOString(),
    peers: status.peers.map(peer => ({...peer, config_hash_age_s: peer.config_hash_age_s + seconds})),
  };
};

// Cluster status as in an answer of the API.
import type {ClusterStatus, Peer} from '../../../shared/cluster-status.ts';
import {peer as samplePeer} from '../cli/sample-records.ts';

export const generatedAt = '2026-03-01T12:00:00.000Z';

export const peer = (node_id: string, changes: Partial<Peer> = {}): Peer => ({
  ...samplePeer(node_id),
  last_seen: '2026-03-01T11:59:58.000Z',
  config_hash: `sha256:${'1'.repeat(64)}`,
  config_hash_age_s: 5000,
  ...changes,
});

export const clusterOf = (...peers: Peer[]): ClusterStatus => ({
  local_node_id: 'mx1',
  local_hostname: 'mx1.example.com',
  peers,
  generated_at: generatedAt,
});

export const otherHash = `sha256:${'2'.repeat(64)}`;

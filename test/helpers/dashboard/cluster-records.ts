// A cluster as its API tells of it.
import type {ClusterStatus, Peer} from '../../../shared/cluster-status.ts';

export const generatedAt = '2026-03-01T12:00:00.000Z';

export const peer = (node_id: string, changes: Partial<Peer> = {}): Peer => ({
  node_id,
  fqdn: `${node_id}.example.com`,
  api_url: `https://${node_id}.example.com:8443`,
  last_seen: '2026-03-01T11:59:58.000Z',
  healthy: 'online',
  config_hash: `sha256:${'1'.repeat(64)}`,
  config_hash_age_s: 5000,
  outbox_backlog_to_us: 0,
  license: {valid: true, type: 'community', status: 'active', expires_at: '9999-12-31T23:59:59Z'},
  unanswered_since: null,
  unreachable_from: [],
  config_differs_since: null,
  clock_skew_s: 0,
  outbox_refused: false,
  cut_off_since: null,
  ...changes,
});

export const clusterOf = (...peers: Peer[]): ClusterStatus => ({
  local_node_id: 'mx1',
  local_hostname: 'mx1.example.com',
  peers,
  generated_at: generatedAt,
});

export const otherHash = `sha256:${'2'.repeat(64)}`;

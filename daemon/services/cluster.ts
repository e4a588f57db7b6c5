import type {ClusterStatus, License} from '../../shared/cluster-status.ts';
import {healthOf} from '../../shared/health.ts';
import type {Database} from '../store/database.ts';
import {countNodes, findNode} from '../store/node.ts';
import {emptyOutbox} from '../store/outbox.ts';
import {readConfigHash} from './apply.ts';

export interface Cluster {
  status(): Promise<ClusterStatus>;
  /** Forgets the events that no peer waits for: without peers, all. A later one begins with what the records are by then. */
  pruneOutbox(): Promise<number>;
}

interface Needs {
  database: Database;
  nodeId: string;
  nodeNo: number;
  hostname: string;
  /** Known once the API listens. */
  apiUrl(): string;
  license(): License;
  now: () => number;
}

export const createCluster = ({database, nodeId, nodeNo, hostname, apiUrl, license, now}: Needs): Cluster => ({
  async status() {
    const [{config_hash, changed_at_ms}, node] = await Promise.all([
      readConfigHash(database.read),
      findNode(database.read, nodeNo),
    ]);
    const generated_at = new Date(now()).toISOString();
    return {
      local_node_id: nodeId,
      local_hostname: hostname,
      peers: [
        {
          node_id: nodeId,
          fqdn: node?.fqdn ?? hostname,
          api_url: apiUrl(),
          last_seen: generated_at,
          healthy: healthOf(0),
          config_hash,
          config_hash_age_s: Math.max(0, Math.floor((now() - changed_at_ms) / 1000)),
          outbox_backlog_to_us: 0,
          license: {...license(), valid: license().valid && Date.parse(license().expires_at) > now()},
        },
      ],
      generated_at,
    };
  },

  async pruneOutbox() {
    return database.write.transaction(async tx => ((await countNodes(tx)) > 1 ? 0 : emptyOutbox(tx)));
  },
});

// Announcement of this node's addresses to the cluster.

import type {ConfigStore} from '../ports.ts';
import type {StoredNode} from '../records.ts';

export interface NodeAnnouncement {
  /** Writes those addresses to the node record that have changed. */
  announce(addresses: Partial<Pick<StoredNode, 'fqdn' | 'cluster_url' | 'api_url' | 'smtp_listen'>>): Promise<void>;
}

interface Needs {
  configuration: ConfigStore;
  nodeNo: number;
}

export const createNodeAnnouncement = ({configuration, nodeNo}: Needs): NodeAnnouncement => ({
  async announce(addresses) {
    await configuration.change(async tx => {
      const known = await tx.config.findNode(nodeNo);
      // A restart must not bring a removed node back.
      if (!known) return;
      const changed = Object.entries(addresses).filter(([name, value]) => known[name as keyof StoredNode] !== value);
      if (changed.length > 0) await tx.update('node', nodeNo, Object.fromEntries(changed));
    });
  },
});

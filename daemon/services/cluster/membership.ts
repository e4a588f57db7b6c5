// Membership of this node in its cluster. A removed node no longer receives changes such as revoked keys, so it must not serve anybody.
// Its number is never reused, so it cannot come back.
import {Fault} from '../../../shared/fault.ts';
import type {ConfigStore, Store} from '../ports.ts';
import type {StoredNode} from '../records.ts';

export interface Membership {
  isRemoved(): boolean;
  /** Instructions for the operator of a removed node; undefined for a member. */
  advice(): string | undefined;
  /** Throws a Fault `unavailable` with the advice if this node was removed. */
  requireMember(): void;
  /** Records, also for later starts, that this node was removed according to the named member. */
  removedBy(nodeId: string): void;
  /** Calls `listener` once: when this node is removed, or at once if it was removed before. */
  onRemoved(listener: (removal: SelfRemoval) => void): void;
}

interface SelfRemoval {
  /** When this node learned of its removal, ISO 8601. */
  at: string;
  /** The node that reported it; null if this node's own records show it. */
  by: string | null;
}

interface Needs {
  store: Store;
  directory: NodeDirectory;
  nodeNo: number;
  now: () => number;
  /** Runs a write that must succeed even on a full disk, see `createReserveFile`. */
  withReserve: (write: () => Promise<void>) => Promise<void>;
  onFailure(error: unknown): void;
}

const stateName = 'removed';
/** Long, because waiting does not help. */
const retryAfterSeconds = 3600;

export const openMembership = async ({store, directory, nodeNo, now, withReserve, onFailure}: Needs): Promise<Membership> => {
  const stored = await store.state.read(stateName);
  let removal = stored === undefined ? undefined : (JSON.parse(stored) as SelfRemoval);
  const listeners: ((removal: SelfRemoval) => void)[] = [];

  const leave = (by: string | null) => {
    if (removal) return;
    const newRemoval = {at: new Date(now()).toISOString(), by};
    removal = newRemoval;
    for (const listener of listeners) listener(newRemoval);
    // If this fails, the other nodes report the removal again after the next start.
    void withReserve(async () => store.transaction(async tx => tx.state.write(stateName, JSON.stringify(newRemoval)))).catch(
      onFailure,
    );
  };
  const checkRemoval = () => {
    if (directory.wasRemoved(nodeNo)) leave(null);
  };
  checkRemoval();
  directory.onChange(checkRemoval);

  const advice = () =>
    removal &&
    `this node was removed from its cluster (known here since ${removal.at}); join it again: mfd join, with a new token, into an empty folder`;
  return {
    isRemoved: () => removal !== undefined,
    advice,
    requireMember() {
      const detail = advice();
      if (detail !== undefined) throw new Fault('unavailable', detail, {retryAfterSeconds});
    },
    removedBy: leave,
    onRemoved(listener) {
      listeners.push(listener);
      if (removal) listener(removal);
    },
  };
};

export interface NodeDirectory {
  /** All nodes, including this one, in the order in which they joined. */
  list(): readonly StoredNode[];
  findByNo(nodeNo: number): StoredNode | undefined;
  findById(nodeId: string): StoredNode | undefined;
  /** Whether the node with this number was removed from the cluster. */
  wasRemoved(nodeNo: number): boolean;
  /** Calls `listener` when a node has joined, changed or left. */
  onChange(listener: () => void): void;
}

export const createNodeDirectory = async (store: Store, configuration: ConfigStore): Promise<NodeDirectory> => {
  const read = async () => ({nodes: await store.config.listNodes(), removed: new Set(await store.config.removedNodeNos())});
  let known = await read();
  const listeners: (() => void)[] = [];

  configuration.onChange(async changed => {
    if (!changed.some(({kind}) => kind === 'node')) return;
    known = await read();
    for (const listener of listeners) listener();
  });

  return {
    list: () => known.nodes,
    findByNo: nodeNo => known.nodes.find(({id}) => id === nodeNo),
    findById: nodeId => known.nodes.find(({node_id}) => node_id === nodeId),
    wasRemoved: nodeNo => known.removed.has(nodeNo),
    onChange: listener => void listeners.push(listener),
  };
};

export interface NodeAnnouncement {
  /** Writes those addresses to the node record that have changed. */
  announce(addresses: Partial<Pick<StoredNode, 'fqdn' | 'cluster_url' | 'api_url' | 'smtp_listen'>>): Promise<void>;
}

interface NodeAnnouncementNeeds {
  configuration: ConfigStore;
  nodeNo: number;
}

export const createNodeAnnouncement = ({configuration, nodeNo}: NodeAnnouncementNeeds): NodeAnnouncement => ({
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

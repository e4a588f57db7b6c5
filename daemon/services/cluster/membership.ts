// Membership of this node in its cluster. A removed node no longer receives changes such as revoked keys, so it must not serve anybody.
// Its number is never reused, so it cannot come back.
import {Fault} from '../../../shared/fault.ts';
import type {Store} from '../../services/ports.ts';
import type {NodeDirectory} from './node-directory.ts';

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
    `this node was removed from its cluster (known here since ${removal.at}); join it anew: mfd join, with a new token, into an empty folder`;
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

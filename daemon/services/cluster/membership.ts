// Whether this node still belongs to its cluster. One that was removed hears of nothing any more, of revoked keys least of all,
// so it may serve nobody; and as its number is never given again, it cannot come back.
import {Fault} from '../../../shared/fault.ts';
import type {Store} from '../../services/ports.ts';
import type {NodeDirectory} from './node-directory.ts';

export interface Membership {
  isRemoved(): boolean;
  /** What to do about it; undefined for a member. */
  advice(): string | undefined;
  /** A Fault `unavailable` that says so when this node was removed. */
  requireMember(): void;
  /** The named member says that this node has been removed. Known at the next start too. */
  removedBy(nodeId: string): void;
  /** Called once: when this node is removed, or at once if that was before. */
  onRemoved(listener: (removal: SelfRemoval) => void): void;
}

interface SelfRemoval {
  /** ISO 8601: when this node was told. */
  at: string;
  /** The node that said so; null where this node's own records do. */
  by: string | null;
}

interface Needs {
  store: Store;
  directory: NodeDirectory;
  nodeNo: number;
  now: () => number;
  /** Runs a write that must succeed even on a full disk, see `createBallast`. */
  withReserve: (write: () => Promise<void>) => Promise<void>;
  onFailure(error: unknown): void;
}

const stateName = 'removed';
/** There is nothing to wait for. */
const retryAfterSeconds = 3600;

export const openMembership = async ({store, directory, nodeNo, now, withReserve, onFailure}: Needs): Promise<Membership> => {
  const stored = await store.state.read(stateName);
  let removal = stored === undefined ? undefined : (JSON.parse(stored) as SelfRemoval);
  const listeners: ((removal: SelfRemoval) => void)[] = [];

  const leave = (by: string | null) => {
    if (removal) return;
    const left = {at: new Date(now()).toISOString(), by};
    removal = left;
    for (const listener of listeners) listener(left);
    // Should this fail, the others say it again at the next start.
    void withReserve(async () => store.transaction(async tx => tx.state.write(stateName, JSON.stringify(left)))).catch(onFailure);
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

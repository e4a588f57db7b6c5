// Connection to the common store, as far as this node can trust it: what is in memory is trusted only for some seconds after the store
// has last confirmed it, because the next change could be a revocation.
import {Fault} from '../../shared/fault.ts';
import {databaseAway} from '../services/common-store.ts';

/** What has to work: receiving notifications of changes, reading them, and noting that this node lives. */
type Part = 'poll' | 'reading' | 'presence';

export interface StoreConnection {
  /** Whether the store has confirmed what is in memory at most 5 s ago. */
  isFresh(): boolean;
  /** Whether the store answers, and takes what this node writes. */
  isReachable(): boolean;
  /** The error because of which it is not reachable; undefined while it is. */
  fault(): unknown;
  /** Throws a Fault `unavailable` unless what is in memory is fresh. */
  requireFresh(): void;
  worked(part: Part): void;
  failed(part: Part, error: unknown): void;
  /** What is in memory is what the store had at `atMs` of the monotonic clock, or later. */
  confirmed(atMs: number): void;
}

interface Needs {
  /** Milliseconds, by a clock that never jumps. */
  monotonic(): number;
  /** Called once when the store is lost, and once when it is back. */
  onLost(error: unknown): void;
  onBack(): void;
}

const trustMs = 5000;
const retryAfterSeconds = 2;

export const createStoreConnection = ({monotonic, onLost, onBack}: Needs): StoreConnection => {
  const failing = new Set<Part>();
  let confirmedAtMs = Number.NEGATIVE_INFINITY;
  let lastError: unknown;
  const isFresh = (): boolean => monotonic() - confirmedAtMs <= trustMs;
  const isReachable = (): boolean => failing.size === 0 && isFresh();

  return {
    isFresh,
    isReachable,
    fault() {
      if (isReachable()) return undefined;
      return failing.size > 0 ? lastError : new Error(`no answer for ${trustMs / 1000} s`);
    },
    requireFresh() {
      if (isFresh()) return;
      throw new Fault('unavailable', databaseAway, {retryAfterSeconds});
    },
    worked(part) {
      if (failing.delete(part) && failing.size === 0) onBack();
    },
    failed(part, error) {
      const isFirst = failing.size === 0;
      failing.add(part);
      lastError = error;
      if (isFirst) onLost(error);
    },
    confirmed(atMs) {
      confirmedAtMs = Math.max(confirmedAtMs, atMs);
    },
  };
};

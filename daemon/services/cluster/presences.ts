// When each node last wrote to the store that all nodes share, by the clock of the store.
import type {SharedStore} from '../shared-store.ts';

export interface Presences {
  /** Undefined for a node that has never written. */
  of(nodeNo: number): {lastSeen: string; ageMs: number} | undefined;
  /** Reads them again. Without an answer of the store the known ones get older. */
  refresh(): Promise<void>;
}

interface Needs {
  store: Pick<SharedStore, 'presence'>;
  monotonic(): number;
}

export const createPresences = ({store, monotonic}: Needs): Presences => {
  let known = new Map<number, {lastSeen: string; seenAtMs: number}>();
  return {
    of(nodeNo) {
      const one = known.get(nodeNo);
      return one && {lastSeen: one.lastSeen, ageMs: Math.max(0, monotonic() - one.seenAtMs)};
    },
    async refresh() {
      const beganAtMs = monotonic();
      const rows = await store.presence();
      known = new Map(
        rows.map(({node_no, last_seen, ageSeconds}) => [node_no, {lastSeen: last_seen, seenAtMs: beganAtMs - ageSeconds * 1000}]),
      );
    },
  };
};

// Presence of the nodes, as they write it to the store that all of them share; at most a second old.
import type {CommonStore} from '../common-store.ts';

export interface Presences {
  /** Undefined for a node that has never written. */
  of(nodeNo: number): {lastSeen: string; ageMs: number} | undefined;
  /** The nodes that have held mail in their Postfix, those that are gone as well. */
  postfixNodes(): readonly string[];
  /** Reads all again. Without an answer of the store what is known gets older. */
  refresh(): Promise<void>;
}

interface Needs {
  store: Pick<CommonStore, 'presence' | 'heldQuery'>;
  monotonic(): number;
}

export const createPresences = ({store, monotonic}: Needs): Presences => {
  let known = new Map<number, {lastSeen: string; seenAtMs: number}>();
  let postfixNodes: readonly string[] = [];
  return {
    of(nodeNo) {
      const one = known.get(nodeNo);
      return one && {lastSeen: one.lastSeen, ageMs: Math.max(0, monotonic() - one.seenAtMs)};
    },
    postfixNodes: () => postfixNodes,
    async refresh() {
      const beganAtMs = monotonic();
      const rows = await store.presence();
      postfixNodes = await store.heldQuery.postfixNodes();
      known = new Map(
        rows.map(({node_no, last_seen, ageSeconds}) => [node_no, {lastSeen: last_seen, seenAtMs: beganAtMs - ageSeconds * 1000}]),
      );
    },
  };
};

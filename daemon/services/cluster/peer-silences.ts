// Nodes that do not answer the heartbeats of this one.

export interface PeerSilences {
  isSilent(nodeNo: number): boolean;
  /** When the first heartbeat without an answer was sent, by the clock that never jumps; undefined while the node answers. */
  sinceMs(nodeNo: number): number | undefined;
  list(): number[];
  answered(nodeNo: number): void;
  unanswered(nodeNo: number): void;
  /** The node has said that it stops. */
  stopped(nodeNo: number): void;
  /** Forgets all nodes but these. */
  retain(nodeNos: readonly number[]): void;
}

/** One may be lost on its way. */
const missesUntilSilent = 2;

export const createPeerSilences = (monotonic: () => number): PeerSilences => {
  /** By node number: how many heartbeats in a row have no answer, and when the first of them was sent. */
  const silences = new Map<number, {misses: number; sinceMs: number}>();
  const isSilent = (no: number): boolean => (silences.get(no)?.misses ?? 0) >= missesUntilSilent;
  return {
    isSilent,
    sinceMs: no => (isSilent(no) ? silences.get(no)?.sinceMs : undefined),
    list: () => [...silences.keys()].filter(isSilent),
    answered: no => void silences.delete(no),
    unanswered(no) {
      const {misses, sinceMs} = silences.get(no) ?? {misses: 0, sinceMs: monotonic()};
      silences.set(no, {misses: misses + 1, sinceMs});
    },
    stopped: no => void silences.set(no, {misses: missesUntilSilent, sinceMs: monotonic()}),
    retain(nodeNos) {
      for (const no of silences.keys()) if (!nodeNos.includes(no)) silences.delete(no);
    },
  };
};

// Tracker of nodes that do not answer the heartbeats of this node.

export interface PeerSilences {
  isSilent(nodeNo: number): boolean;
  /** When the first unanswered heartbeat was sent, in milliseconds of the monotonic clock; undefined while the node answers. */
  sinceMs(nodeNo: number): number | undefined;
  list(): number[];
  /** `askedAtMs`: when the heartbeat that was answered was sent. */
  answered(nodeNo: number, askedAtMs: number): void;
  unanswered(nodeNo: number): void;
  /** The node has announced that it stops. */
  stopped(nodeNo: number): void;
  /** Removes all nodes except these. */
  retain(nodeNos: readonly number[]): void;
}

/** A single heartbeat may get lost. */
const missesUntilSilent = 2;

export const createPeerSilences = (monotonic: () => number): PeerSilences => {
  /** By node number: the number of consecutive unanswered heartbeats, and when the first of them was sent. */
  const silences = new Map<number, {misses: number; sinceMs: number}>();
  const isSilent = (no: number): boolean => (silences.get(no)?.misses ?? 0) >= missesUntilSilent;
  return {
    isSilent,
    sinceMs: no => (isSilent(no) ? silences.get(no)?.sinceMs : undefined),
    list: () => [...silences.keys()].filter(isSilent),
    answered(no, askedAtMs) {
      const {sinceMs = askedAtMs} = silences.get(no) ?? {};
      // An answer that the node gave before it announced its stop may be read after that.
      if (askedAtMs >= sinceMs) silences.delete(no);
    },
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

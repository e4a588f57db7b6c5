// Position up to which one peer has applied this node's events, and the callers that wait for it to advance.

export interface Acknowledgement {
  /** The number of the last event that the peer has applied; undefined until the peer has reported it. */
  readonly seq: number | undefined;
  /** The peer reports its position, which may have gone back. */
  set(seq: number): void;
  isReached(seq: number): boolean;
  /** Resolves with true once the peer has applied event `seq`, with false at the deadline or at `giveUp`. */
  waitFor(seq: number, deadlineMs: number): Promise<boolean>;
  /** Answers everybody who waits with false. */
  giveUp(): void;
}

interface Waiting {
  seq: number;
  settle(isReached: boolean): void;
}

export const createAcknowledgement = (): Acknowledgement => {
  let acknowledged: number | undefined;
  const waiting = new Set<Waiting>();

  const isReached = (seq: number): boolean => acknowledged !== undefined && acknowledged >= seq;

  return {
    get seq() {
      return acknowledged;
    },
    set(seq) {
      acknowledged = seq;
      for (const one of waiting) if (isReached(one.seq)) one.settle(true);
    },
    isReached,
    async waitFor(seq, deadlineMs) {
      return new Promise(resolve => {
        const one: Waiting = {
          seq,
          settle(outcome) {
            clearTimeout(deadline);
            waiting.delete(one);
            resolve(outcome);
          },
        };
        const deadline = setTimeout(() => one.settle(false), deadlineMs);
        waiting.add(one);
      });
    },
    giveUp() {
      for (const one of waiting) one.settle(false);
    },
  };
};

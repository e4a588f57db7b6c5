// Poll of Postfix's hold queue: one at a time, with pauses that limit the load on Postfix.
import type {PostfixReconciliation} from '../hold/postfix/postfix-reconcile.ts';

export interface PostfixPoll {
  /** Polls, or waits for the current poll. Never rejects. */
  run(): Promise<void>;
  /** Aborts the current poll where possible, and waits for it. */
  stop(): Promise<void>;
}

interface Needs {
  reconcile(signal: AbortSignal): Promise<PostfixReconciliation>;
  onPolled(found: PostfixReconciliation): void;
  onFailed(error: unknown): void;
  now: () => number;
}

/** The part of the time that polling may take. */
const maxShare = 0.2;

export const createPostfixPoll = ({reconcile, onPolled, onFailed, now}: Needs): PostfixPoll => {
  const stopping = new AbortController();
  let underWay: Promise<void> | undefined;
  let last = {at: 0, pauseMs: 0};

  const poll = async (): Promise<void> => {
    const startedAt = now();
    // Only the reading of the queue counts: its results are written once.
    let pollMs: number | undefined;
    try {
      const found = await reconcile(stopping.signal);
      pollMs = found.pollMs;
      onPolled(found);
    } catch (error) {
      onFailed(error);
    }
    const at = now();
    last = {at, pauseMs: (pollMs ?? at - startedAt) / maxShare};
  };

  /** If the clock is set back, polling must not stop. */
  const isPausing = (): boolean => now() >= last.at && now() < last.at + last.pauseMs;

  return {
    async run() {
      if (stopping.signal.aborted || (!underWay && isPausing())) return;
      underWay ??= poll().finally(() => {
        underWay = undefined;
      });
      await underWay;
    },

    async stop() {
      stopping.abort();
      await underWay;
    },
  };
};

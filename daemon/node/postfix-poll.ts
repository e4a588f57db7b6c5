// Looks at Postfix's hold queue again and again: one look at a time, and seldom enough not to be what Postfix is busy with.
import type {PostfixReconciliation} from '../hold/postfix/postfix-reconcile.ts';

export interface PostfixPoll {
  /** A look, or the one that is under way. Rejects never. */
  run(): Promise<void>;
  /** Breaks off what is under way where that may be, and waits for it. */
  stop(): Promise<void>;
}

interface Needs {
  reconcile(signal: AbortSignal): Promise<PostfixReconciliation>;
  onPolled(found: PostfixReconciliation): void;
  onFailed(error: unknown): void;
  now: () => number;
}

/** Of the time between two looks at the queue, the looking may take this part. */
const maxShare = 0.2;

export const createPostfixPoll = ({reconcile, onPolled, onFailed, now}: Needs): PostfixPoll => {
  const stopping = new AbortController();
  let underWay: Promise<void> | undefined;
  let last = {at: 0, pauseMs: 0};

  const poll = async (): Promise<void> => {
    const startedAt = now();
    // What is written down once takes its time once.
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

  /** A clock that was put back must not end the looking. */
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

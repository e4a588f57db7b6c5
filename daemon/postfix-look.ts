// Looks at Postfix's hold queue again and again: one look at a time, and seldom enough not to be what Postfix is busy with.
import type {PostfixReconciliation} from './hold/postfix-reconcile.ts';

export interface PostfixLook {
  /** A look, or the one that is under way. Rejects never. */
  run(): Promise<void>;
  /** Breaks off what is under way where that may be, and waits for it. */
  stop(): Promise<void>;
}

interface Needs {
  reconcile(signal: AbortSignal): Promise<PostfixReconciliation>;
  onLooked(found: PostfixReconciliation): void;
  onFailed(error: unknown): void;
  now: () => number;
}

/** Of the time between two looks at the queue, the looking may take this part. */
const maxShare = 0.2;

export const createPostfixLook = ({reconcile, onLooked, onFailed, now}: Needs): PostfixLook => {
  const stopping = new AbortController();
  let underWay: Promise<void> | undefined;
  let notBefore = 0;

  const look = async (): Promise<void> => {
    const startedAt = now();
    // What is written down once takes its time once.
    let lookMs: number | undefined;
    try {
      const found = await reconcile(stopping.signal);
      lookMs = found.lookMs;
      onLooked(found);
    } catch (error) {
      onFailed(error);
    }
    notBefore = now() + (lookMs ?? now() - startedAt) / maxShare;
  };

  return {
    async run() {
      if (stopping.signal.aborted || (!underWay && now() < notBefore)) return;
      underWay ??= look().finally(() => {
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

// Removal of the bytes of mails that were released, discarded or expired.
import type {HoldBackend} from './hold-backend.ts';
import {createSemaphore} from './semaphore.ts';

export interface Cleanup {
  /** Never rejects. Does not wait when many mails are freed at once: their results are recorded already. */
  free(backend: HoldBackend, queueId: string): Promise<void>;
  idle(): Promise<void>;
}

/** Low, as the database uses the same thread pool. */
const freeAtOnce = 2;
const awaitedAtMost = 16;

/** `onLeftover` is called for bytes that could not be removed. */
export const createCleanup = (onLeftover: (queueId: string, error: unknown) => void): Cleanup => {
  const beingFreed = new Set<Promise<void>>();
  const inTurn = createSemaphore(freeAtOnce);
  return {
    async free(backend, queueId) {
      const freed = inTurn(async () => backend.forget(queueId))
        .catch(error => onLeftover(queueId, error))
        .finally(() => beingFreed.delete(freed));
      beingFreed.add(freed);
      if (beingFreed.size <= awaitedAtMost) await freed;
    },
    async idle() {
      await Promise.all(beingFreed);
    },
  };
};

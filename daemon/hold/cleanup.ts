// Removal of the bytes of mails whose life in the queue has ended.
import type {HoldBackend} from './hold-backend.ts';
import {createSemaphore} from './semaphore.ts';

export interface Cleanup {
  /** Never rejects. With many at once it does not wait: what became of the mails is written down already. */
  free(backend: HoldBackend, queueId: string): Promise<void>;
  idle(): Promise<void>;
}

/** The database works on the same few threads. */
const freeAtOnce = 2;
const awaitedAtMost = 16;

/** `onLeftover` is called for what could not be removed. */
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

// Limit on how many callers do something at once. The others wait in the order in which they came, and may leave.

export interface Semaphore {
  /** Resolves with the function that gives the place back. Rejects with the reason of `signal` when that aborts first. */
  acquire(signal: AbortSignal): Promise<() => void>;
}

export const createSemaphore = (atOnce: number): Semaphore => {
  let free = atOnce;
  const waiting = new Set<() => void>();

  const release = (): void => {
    const [next] = waiting;
    if (next) next();
    else free += 1;
  };

  return {
    async acquire(signal) {
      signal.throwIfAborted();
      if (free > 0) {
        free -= 1;
        return release;
      }
      await new Promise<void>((resolve, reject) => {
        const end = () => {
          waiting.delete(enter);
          signal.removeEventListener('abort', leave);
        };
        const enter = () => {
          end();
          resolve();
        };
        const leave = () => {
          end();
          reject(signal.reason as Error);
        };
        waiting.add(enter);
        signal.addEventListener('abort', leave);
      });
      return release;
    },
  };
};

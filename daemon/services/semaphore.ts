// Limit on how many do something at once, and on how long they wait for their turn.

/** The others wait in the order in which they came, and may leave. */
export interface Semaphore {
  /** Resolves with the function that gives the place back. Rejects with the reason of `signal` when that aborts first. */
  acquire(signal?: AbortSignal): Promise<() => void>;
  /** The same without waiting; undefined when no place is free. */
  tryAcquire(): (() => void) | undefined;
  /** Runs `work` in its turn. */
  run<T>(work: () => Promise<T>): Promise<T>;
}

export const createSemaphore = (atOnce: number): Semaphore => {
  let free = atOnce;
  const waiting = new Set<() => void>();

  const release = (): void => {
    const [next] = waiting;
    if (next) next();
    else free += 1;
  };

  const tryAcquire: Semaphore['tryAcquire'] = () => {
    if (free === 0) return undefined;
    free -= 1;
    return release;
  };

  const acquire: Semaphore['acquire'] = async signal => {
    signal?.throwIfAborted();
    const leave = tryAcquire();
    if (leave) return leave;
    await new Promise<void>((resolve, reject) => {
      const end = () => {
        waiting.delete(enter);
        signal?.removeEventListener('abort', leave);
      };
      const enter = () => {
        end();
        resolve();
      };
      const leave = () => {
        end();
        reject(signal?.reason as Error);
      };
      waiting.add(enter);
      signal?.addEventListener('abort', leave);
    });
    return release;
  };

  return {
    acquire,
    tryAcquire,
    async run(work) {
      const leave = await acquire();
      try {
        return await work();
      } finally {
        leave();
      }
    },
  };
};

/** Not with AbortSignal.any: Node 20 collects a timeout that only the combined signal refers to, and it never fires. */
export const startTimeLimit = (withinMs: number, gone?: AbortSignal) => {
  const over = new AbortController();
  const abort = () => over.abort();
  const timer = setTimeout(abort, withinMs);
  gone?.addEventListener('abort', abort);
  if (gone?.aborted) abort();
  return {
    signal: over.signal,
    end() {
      clearTimeout(timer);
      gone?.removeEventListener('abort', abort);
    },
  };
};

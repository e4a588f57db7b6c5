// Group commit: items that arrive while the disk is busy share the next write.
import {setImmediate as nextIteration} from 'node:timers/promises';

/**
 * `submit` resolves when a `flush` that contained its item has succeeded. Items of one event loop iteration share a flush. Items that
 * arrive during a flush wait for the next one; only one flush runs at a time. A failed flush rejects all of its items.
 */
export const createBatch = <T>(flush: (items: T[]) => Promise<void>): ((item: T) => Promise<void>) => {
  let waiting: {item: T; resolve: () => void; reject: (error: unknown) => void}[] = [];
  let isRunning = false;

  const run = async () => {
    isRunning = true;
    // Collects items submitted in the same iteration, for example by callers that another batch has just resolved.
    await nextIteration();
    while (waiting.length > 0) {
      const batch = waiting;
      waiting = [];
      try {
        await flush(batch.map(({item}) => item));
        for (const {resolve} of batch) resolve();
      } catch (error) {
        for (const {reject} of batch) reject(error);
      }
    }
    isRunning = false;
  };

  return async item =>
    new Promise((resolve, reject) => {
      waiting.push({item, resolve, reject});
      if (!isRunning) void run();
    });
};

/** Values that are asked for together are looked up at once. `find` resolves with what gives each key its value. */
export const createLookup = <K, V>(
  find: (keys: K[]) => Promise<(key: K) => V | undefined>,
): ((key: K) => Promise<V | undefined>) => {
  const submit = createBatch<{key: K; value: V | undefined}>(async wanted => {
    const found = await find(wanted.map(({key}) => key));
    for (const one of wanted) one.value = found(one.key);
  });
  return async key => {
    const wanted = {key, value: undefined};
    await submit(wanted);
    return wanted.value;
  };
};

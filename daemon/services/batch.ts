// Group commit: whoever waits for the disk while it is busy shares the next write.
import {setImmediate as turn} from 'node:timers/promises';

/**
 * `submit` resolves once a `flush` that contained its item has succeeded. Items of one turn of the event loop share a flush, and
 * while one flush runs, items gather for the next; there is never more than one at a time. A failed flush fails all of its items.
 */
export const createBatch = <T>(flush: (items: T[]) => Promise<void>): ((item: T) => Promise<void>) => {
  let gathering: {item: T; resolve: () => void; reject: (error: unknown) => void}[] = [];
  let isRunning = false;

  const run = async () => {
    isRunning = true;
    // What was handed out together, as by the flush of another batch, comes together.
    await turn();
    while (gathering.length > 0) {
      const batch = gathering;
      gathering = [];
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
      gathering.push({item, resolve, reject});
      if (!isRunning) void run();
    });
};

// Yielding to the event loop, for work that is cut into slices.
import {setImmediate as nextIteration} from 'node:timers/promises';

/** Resolves when the caller may work for a few milliseconds. */
export type EventLoopYield = () => Promise<void>;

/** Lets one caller continue per event loop iteration, so that the slices of several callers never run back to back. */
export const createYield = (): EventLoopYield => {
  let previous: Promise<unknown> = Promise.resolve();
  return async () => {
    const current = previous.then(async () => nextIteration());
    previous = current;
    await current;
  };
};

import {setImmediate as nextIteration} from 'node:timers/promises';

/** Resolves when it is the caller's turn to work for a few milliseconds. */
export type Turn = () => Promise<void>;

/** One turn in each round of the event loop, whoever asks: work that is cut into slices never piles up between other work. */
export const createYield = (): Turn => {
  let last: Promise<unknown> = Promise.resolve();
  return async () => {
    const own = last.then(async () => nextIteration());
    last = own;
    await own;
  };
};

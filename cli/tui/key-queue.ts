// Keys one at a time: each is handled when what the one before has changed is drawn.
import type {KeyName} from './keys.ts';

export interface KeyQueue {
  add(keys: readonly KeyName[]): void;
  /** The key before has taken effect. */
  next(): void;
}

/** More than anybody types ahead; a long paste where no text is taken is dropped. */
const longest = 5000;

/** `handle` is followed by a call of `next`, sooner or later. */
export const createKeyQueue = (handle: (key: KeyName) => void): KeyQueue => {
  const waiting: KeyName[] = [];
  let isBusy = false;
  const next = (): void => {
    const key = waiting.shift();
    isBusy = key !== undefined;
    if (key !== undefined) handle(key);
  };
  return {
    add: keys => {
      if (waiting.length < longest) waiting.push(...keys);
      if (!isBusy) next();
    },
    next,
  };
};

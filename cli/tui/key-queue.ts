// Keys one at a time: each is handled with the screen as the one before has left it.
import type {KeyName} from './keys.ts';

export interface KeyQueue {
  add(keys: readonly KeyName[]): void;
}

/** More than anybody types ahead; a long paste into no field is dropped. */
const longest = 5000;

export const createKeyQueue = (handle: (key: KeyName) => void): KeyQueue => {
  const waiting: KeyName[] = [];
  let isRunning = false;
  const next = (): void => {
    const key = waiting.shift();
    if (key === undefined) {
      isRunning = false;
      return;
    }
    // What it changes is drawn before the next one comes.
    setImmediate(next);
    handle(key);
  };
  return {
    add: keys => {
      if (waiting.length < longest) waiting.push(...keys);
      if (isRunning) return;
      isRunning = true;
      next();
    },
  };
};

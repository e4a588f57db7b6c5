// Queue of keys and pastes: each is handled after the effect of the one before has been drawn.

interface KeyQueue<T> {
  add(keys: readonly T[]): void;
  /** Called when the key before has taken effect. */
  next(): void;
}

/** More than a person types ahead. */
const longest = 5000;

/** `handle` is followed by a call of `next`, sooner or later. */
export const createKeyQueue = <T>(handle: (key: T) => void): KeyQueue<T> => {
  const waiting: T[] = [];
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

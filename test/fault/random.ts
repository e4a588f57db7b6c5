// Random numbers that a seed repeats, separate for every round, so that one round can be repeated without those before it.
import {createHash} from 'node:crypto';

export interface Random {
  /** From 0 up to, but not including, 1. */
  next(): number;
  /** A whole number from `from` to `to`, both included. */
  between(from: number, to: number): number;
  pick<T>(items: readonly T[]): T;
  /** True in `share` of all cases. */
  chance(share: number): boolean;
  bytes(length: number): Buffer;
}

/** Mulberry32, seeded with a digest of the names of the round. */
export const createRandom = (...names: (string | number)[]): Random => {
  let state = createHash('sha256').update(names.join('/')).digest().readUInt32LE();
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const between = (from: number, to: number) => from + Math.floor(next() * (to - from + 1));

  return {
    next,
    between,
    pick: <T>(items: readonly T[]): T => {
      if (items.length === 0) throw new RangeError('nothing to pick from');
      return items[between(0, items.length - 1)] as T;
    },
    chance: share => next() < share,
    bytes: length => Buffer.from(Array.from({length}, () => between(0, 255))),
  };
};

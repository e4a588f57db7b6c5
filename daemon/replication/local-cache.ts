// Local state inside one transaction: read once, written once, however many changes there are in it.
import type {Db} from '../store/sqlite/database.ts';
import {readStates} from '../store/sqlite/local-state.ts';

export interface LocalCache {
  get(name: string): Promise<string | undefined>;
  set(name: string, value: string): void;
  /** The next number of a sequence, from 1. */
  next(sequence: string): Promise<number>;
  /** What is to be written. */
  takeChanged(): Map<string, string>;
}

/** `names` are read together with the first that is asked for. */
export const createLocalCache = (tx: Db, names: readonly string[]): LocalCache => {
  const known = new Map<string, string | undefined>();
  const written = new Map<string, string>();

  const get: LocalCache['get'] = async name => {
    if (known.has(name)) return known.get(name);
    const wanted = [name, ...names].filter(one => !known.has(one));
    const found = await readStates(tx, wanted);
    for (const one of wanted) known.set(one, found.get(one));
    return known.get(name);
  };
  const set: LocalCache['set'] = (name, value) => {
    known.set(name, value);
    written.set(name, value);
  };

  return {
    get,
    set,
    async next(sequence) {
      const name = `sequence:${sequence}`;
      const number = Number((await get(name)) ?? 0) + 1;
      set(name, String(number));
      return number;
    },
    takeChanged() {
      const all = new Map(written);
      written.clear();
      return all;
    },
  };
};

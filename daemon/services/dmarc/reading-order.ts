// Order in which reports are read. One sender never delays another: each has one report read at a time, and its others wait for that one.
// Senders of one standing share a few places, and take turns there; those of another standing have places of their own.
import {Fault} from '../../../shared/fault.ts';

/** How much is known of a sender. `known`: verified, and a verified report of it is stored. */
export type Standing = 'known' | 'verified' | 'unverified';

/** An unknown sender has as many names as it likes. */
const places: Record<Standing, number> = {known: 2, verified: 1, unverified: 1};

/** A client waits for the answer, and would have given up. */
const maxWaitMs = 60_000;

interface Turn {
  standing: Standing;
  sender: string;
}

/** Resolves as `work` does. Rejects with a Fault `unavailable`, without work, when its turn comes too late. */
export type ReadingOrder = <T>(turn: Turn, work: () => Promise<T>) => Promise<T>;

export const createReadingOrder = (now: () => number): ReadingOrder => {
  const lines = {
    known: createLine(places.known),
    verified: createLine(places.verified),
    unverified: createLine(places.unverified),
  };
  /** The last one of each sender that has any. */
  const last = new Map<string, Promise<unknown>>();

  return async ({standing, sender}, work) => {
    const askedAt = now();
    const key = `${standing} ${sender}`;
    const before = last.get(key) ?? Promise.resolve();
    // It lines up only when the one before it is done, so behind the first one of every other sender.
    const own = before.then(async () =>
      lines[standing](async () => {
        if (now() - askedAt > maxWaitMs) throw new Fault('unavailable', 'reading the reports before this one took too long');
        return work();
      }),
    );
    const done = own.then(
      () => undefined,
      () => undefined,
    );
    last.set(key, done);
    void done.then(() => last.get(key) === done && last.delete(key));
    return own;
  };
};

/** Runs as much at a time as it has places, in the order of arrival. */
const createLine = (count: number) => {
  let free = count;
  const waiting: (() => void)[] = [];

  return async <T>(work: () => Promise<T>): Promise<T> => {
    if (free > 0) free -= 1;
    else await new Promise<void>(resolve => waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next) next();
      else free += 1;
    }
  };
};

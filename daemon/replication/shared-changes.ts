// Changes of the configuration that wait for the disk at the same time are one transaction, and each has an outcome of its own.

import {createBatch} from '../services/batch.ts';
import type {RecordKey} from '../store/sqlite/config-record.ts';
import type {Touched} from './apply.ts';
import type {ConfigSession} from './config-session.ts';

export interface Committed {
  touched: Touched[];
  /** Of the events this left in the outbox. */
  seqs: number[];
}

/** What one change has come to in a transaction that is not committed yet. */
export interface Drawn<T> {
  result: T;
  touched: Touched[];
  seq: number | undefined;
}

interface SharedChange<T> {
  reads: RecordKey[];
  /** `onBegun` is called before anything is left in the session. */
  draw(session: ConfigSession, onBegun: () => void): Promise<Drawn<T>>;
}

interface Needs {
  transaction<T>(work: (session: ConfigSession) => Promise<T>): Promise<T>;
  /** Called after each commit, before the changes in it resolve. */
  announce(committed: Committed): Promise<void>;
}

type Outcome<T> = {drawn: Drawn<T>} | {error: unknown};

interface Waiting {
  change: SharedChange<unknown>;
  outcome?: Outcome<unknown>;
  announced?: Promise<void>;
}

/** The writer is not kept for longer. */
const maxTogether = 128;

export const createSharedChanges = ({transaction, announce}: Needs) => {
  /** Rejects when a change fails that has begun: what it has left cannot be taken out of the transaction again. */
  const drawAll = async (session: ConfigSession, waiting: Waiting[]): Promise<void> => {
    await session.prepare(
      waiting.flatMap(({change}) => change.reads),
      {isAudited: true},
    );
    for (const one of waiting) {
      let hasBegun = false;
      const onBegun = () => {
        hasBegun = true;
      };
      try {
        one.outcome = {drawn: await one.change.draw(session, onBegun)};
      } catch (error) {
        if (hasBegun) throw error;
        one.outcome = {error};
      }
    }
    await session.flush();
  };

  const commit = async (waiting: Waiting[]): Promise<void> => {
    await transaction(async session => drawAll(session, waiting));
    const drawn = waiting.flatMap(({outcome}) => (outcome && 'drawn' in outcome ? [outcome.drawn] : []));
    const announced = announce({touched: drawn.flatMap(({touched}) => touched), seqs: drawn.flatMap(({seq}) => seq ?? [])});
    for (const one of waiting) one.announced = announced;
  };

  const commitAlone = async (one: Waiting): Promise<void> => {
    try {
      await commit([one]);
      await one.announced;
    } catch (error) {
      one.outcome = {error};
    }
  };

  const submit = createBatch<Waiting>(async all => {
    for (let from = 0; from < all.length; from += maxTogether) {
      const some = all.slice(from, from + maxTogether);
      const isCommitted =
        some.length > 1 &&
        (await commit(some).then(
          () => true,
          () => false,
        ));
      // One that fails fails alone, seen against what the others have left.
      if (!isCommitted) for (const one of some) await commitAlone(one);
    }
  });

  return async <T>(change: SharedChange<T>): Promise<T> => {
    const waiting: Waiting = {change};
    await submit(waiting);
    // Not in the way of the next transaction.
    await waiting.announced;
    const {outcome} = waiting;
    if (outcome === undefined) throw new Error('a change has no outcome');
    if ('error' in outcome) throw outcome.error;
    return outcome.drawn.result as T;
  };
};

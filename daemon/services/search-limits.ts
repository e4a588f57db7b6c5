// Limits of searches, which read many rows of held mail, or of what was received and reported for DMARC: mail and actions never wait for
// a search.

import {Fault} from '../../shared/fault.ts';
import {type HoldFilter, isSearch} from '../../shared/hold-filter.ts';
import {createSemaphore, type Semaphore, startTimeLimit} from './semaphore.ts';

/** How long a search may take on one node, its wait for a connection included. */
export const searchMs = 5000;

/** A search on this node took too long, see `isSilence`. Repeating the same search helps only when it had to wait for others. */
export class SearchOverdue extends Fault {
  constructor(cause: unknown, hasWaited: 'for others' | 'for nobody') {
    super(
      'unavailable',
      'the search took too long; narrow the search: add a domain, a sender, a time span or more letters of the subject',
      {cause, ...(hasWaited === 'for others' && {retryAfterSeconds: 5})},
    );
  }
}

interface SearchTime {
  signal: AbortSignal;
  endsAtMs: number;
}

export interface SearchLimit {
  atOnce: number;
  withinMs: number;
}

/** Two threads of the four that a process has for its files and SQLite are left for mail. */
export const usualSearchLimit: SearchLimit = {atOnce: 2, withinMs: searchMs};

/**
 * Runs searches in a store, `atOnce` of them, the others wait. `search` has to end soon after its time is over, with a SearchOverdue: then
 * `signal` aborts, and `endsAtMs` is that moment by `performance.now()`.
 */
export const createSearchLimit = ({atOnce, withinMs}: SearchLimit) => {
  const places = createSemaphore(atOnce);
  return async <T>(search: (time: SearchTime) => Promise<T>): Promise<T> => {
    const endsAtMs = performance.now() + withinMs;
    const {signal, end} = startTimeLimit(withinMs);
    try {
      const release = await places.acquire(signal).catch(cause => {
        throw new SearchOverdue(cause, 'for others');
      });
      return await search({signal, endsAtMs}).finally(release);
    } finally {
      end();
    }
  };
};

interface SearchRequest {
  keyId: number | null;
  /** Undefined: it is a search, whatever it has. */
  filter: HoldFilter | undefined;
  /** Aborts when the caller has gone. */
  gone: AbortSignal;
}

export interface KeySearches {
  /** Runs `work`. A search waits until its key has fewer than four others under way; rejects with `rate_limited` after 5 s. */
  run<T>(request: SearchRequest, work: () => Promise<T>): Promise<T>;
}

/** For the callers of this node's API. */
export const createKeySearches = ({atOnce, waitMs} = {atOnce: 4, waitMs: 5000}): KeySearches => {
  const keys = new Map<number | null, {places: Semaphore; users: number}>();
  return {
    async run({keyId, filter, gone}, work) {
      if (filter && !isSearch(filter)) return work();
      const key = keys.get(keyId) ?? {places: createSemaphore(atOnce), users: 0};
      keys.set(keyId, key);
      key.users += 1;
      const {signal, end} = startTimeLimit(waitMs, gone);
      try {
        const release = await key.places.acquire(signal).catch(cause => {
          throw tooMany(atOnce, cause);
        });
        end();
        return await work().finally(release);
      } finally {
        end();
        key.users -= 1;
        if (key.users === 0) keys.delete(keyId);
      }
    },
  };
};

const tooMany = (atOnce: number, cause: unknown): Fault =>
  new Fault('rate_limited', `${atOnce} searches of this key are running; try again when one of them has ended`, {
    cause,
    retryAfterSeconds: 5,
  });

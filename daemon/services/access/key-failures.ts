// Requests without a key that is good, by the address that they come from. Whoever guesses keys is told to wait; and of many
// requests the log has a few lines. Whether a key is good is found out first, so a guesser behind the same address translation
// locks nobody out.
import {clientNetwork} from '../../../shared/host-port.ts';

/** Unknown keys that one address may send in a minute. */
export const guessLimit = 20;

interface KeyFailure {
  /** False for those that the count at the end of the minute tells of. */
  isLogged: boolean;
  /** False when the address has sent too many unknown keys. */
  isAllowed: boolean;
  /** Unknown keys that the address may still send. */
  remaining: number;
  /** Until it may send as many as ever, rounded up. */
  resetSeconds: number;
}

export interface KeyFailureCount {
  /** An IPv4 address or an IPv6 network of 64 bits; null for all that were too many to count by themselves. */
  remote_address: string | null;
  requests: number;
  /** How many of them were refused as too many. */
  too_many: number;
}

export interface KeyFailures {
  /** `isGuess`: the key is unknown. One that is missing, revoked or expired is never too many. */
  note(remoteAddress: string | null, isGuess: boolean): KeyFailure;
  /** Tells of the minutes that are over, or of all. */
  report(isEnd?: boolean): void;
}

interface Needs {
  /** Milliseconds of a clock that never jumps. */
  monotonic: () => number;
  /** Called once for each minute in which more than one request of an address failed. */
  onCount(count: KeyFailureCount): void;
}

const minuteMs = 60_000;
/** Somebody with a million addresses must not fill the memory, nor the log. All further ones are counted as one. */
const maxAddresses = 1000;

interface Minute extends KeyFailureCount {
  endsAtMs: number;
  guesses: number;
}

export const createKeyFailures = ({monotonic, onCount}: Needs): KeyFailures => {
  const minutes = new Map<string | null, Minute>();

  const end = (minute: Minute): void => {
    minutes.delete(minute.remote_address);
    const {remote_address, requests, too_many} = minute;
    if (requests > 1) onCount({remote_address, requests, too_many});
  };
  const minuteOf = (remoteAddress: string | null): Minute => {
    const address = remoteAddress === null ? null : clientNetwork(remoteAddress);
    const key = minutes.has(address) || minutes.size < maxAddresses ? address : null;
    const known = minutes.get(key);
    if (known && known.endsAtMs > monotonic()) return known;
    if (known) end(known);
    const begun = {remote_address: key, requests: 0, too_many: 0, guesses: 0, endsAtMs: monotonic() + minuteMs};
    minutes.set(key, begun);
    return begun;
  };

  return {
    note(remoteAddress, isGuess) {
      const minute = minuteOf(remoteAddress);
      const isAllowed = !isGuess || minute.guesses < guessLimit;
      minute.requests += 1;
      if (!isAllowed) minute.too_many += 1;
      else if (isGuess) minute.guesses += 1;
      return {
        isLogged: minute.requests === 1,
        isAllowed,
        remaining: guessLimit - minute.guesses,
        resetSeconds: Math.ceil((minute.endsAtMs - monotonic()) / 1000),
      };
    },
    report(isEnd = false) {
      for (const minute of [...minutes.values()]) if (isEnd || minute.endsAtMs <= monotonic()) end(minute);
    },
  };
};

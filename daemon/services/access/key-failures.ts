// Counter of requests without a valid key, by client address. It limits guessing of keys, and keeps the log short when many
// requests fail. Keys are checked before the limit, so somebody who guesses keys from a shared address (NAT) locks nobody out.
import {clientNetwork} from '../../../shared/host-port.ts';

/** Unknown keys that one address may send in a minute. */
export const guessLimit = 20;

interface KeyFailure {
  /** False for failures that are reported only as part of the count at the end of the minute. */
  isLogged: boolean;
  /** False when the address has sent too many unknown keys. */
  isAllowed: boolean;
  /** Unknown keys that the address may still send. */
  remaining: number;
  /** Seconds until the full limit is available again, rounded up. */
  resetSeconds: number;
}

export interface KeyFailureCount {
  /** An IPv4 address or an IPv6 /64 network; null for the sum of all addresses beyond the first thousand. */
  remote_address: string | null;
  requests: number;
  /** How many of the requests were refused because of the limit. */
  too_many: number;
}

export interface KeyFailures {
  /** `isGuess`: the key is unknown. Requests with a missing, revoked or expired key do not count against the limit. */
  note(remoteAddress: string | null, isGuess: boolean): KeyFailure;
  /** Reports the minutes that are over; with `isEnd` also the current ones. */
  report(isEnd?: boolean): void;
}

interface Needs {
  /** Milliseconds of a clock that never jumps. */
  monotonic: () => number;
  /** Called once for each address and minute with more than one failed request. */
  onCount(count: KeyFailureCount): void;
}

const minuteMs = 60_000;
/** Bounds memory and log lines when an attacker uses very many addresses. All further addresses share one count. */
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
    const started = {remote_address: key, requests: 0, too_many: 0, guesses: 0, endsAtMs: monotonic() + minuteMs};
    minutes.set(key, started);
    return started;
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

// Timing of reads: soon after an event, at an interval without one, and more and more rarely while reading fails.
import type {CliError} from '../../errors.ts';
import type {Live} from './live.ts';

export interface PollingNeeds {
  live: Pick<Live, 'get' | 'answered' | 'failed'>;
  now(): number;
  /** Called when it is due. */
  read(): void;
  /** Between two reads while there are no events. */
  everyMs?: number | undefined;
  /** Between two reads while events tell most of it. */
  whileLiveMs?: number | undefined;
  /** Between two reads, however many events there are. */
  leastGapMs?: number | undefined;
  /** True for what is not asked of the API: whether that answers is another question. */
  isElsewhere?: boolean | undefined;
}

export interface Polling {
  start(): void;
  stop(): void;
  /** A read begins, and does what was due. */
  begun(): void;
  succeeded(): void;
  failed(failure: CliError): void;
  /** Something has happened. It does not put off what is due already, or there would be no read among many events. */
  wake(): void;
  /** Due in so many milliseconds, if not before. */
  dueIn(ms: number): void;
}

const pollingMs = 5000;
/** Events may be missed, and some things change without any. */
const liveMs = 30_000;
/** A burst of events is read once. */
const burstMs = 300;
/** A key may ask so and so often in a minute, and other screens and programs ask with it too. */
const usualGapMs = 1500;
const longestRetryMs = 15_000;
/** What a node may ask for with Retry-After. A timer that is set to more than 24 days goes off at once. */
const longestWaitMs = 60_000;

export const createPolling = (needs: PollingNeeds): Polling => {
  const {live, now, read, everyMs = pollingMs, leastGapMs = usualGapMs, isElsewhere = false} = needs;
  const {whileLiveMs = Math.max(liveMs, everyMs)} = needs;
  let isStarted = false;
  let timer: NodeJS.Timeout | undefined;
  let dueAtMs = Number.POSITIVE_INFINITY;
  let begunAtMs = Number.NEGATIVE_INFINITY;
  /** What the node has asked for with Retry-After: a key over its limit still receives events. */
  let notBeforeMs = Number.NEGATIVE_INFINITY;
  let failures = 0;

  const clear = (): void => {
    clearTimeout(timer);
    dueAtMs = Number.POSITIVE_INFINITY;
  };
  const dueIn = (ms: number): void => {
    if (!isStarted || now() + ms >= dueAtMs) return;
    clearTimeout(timer);
    dueAtMs = now() + ms;
    timer = setTimeout(() => {
      clear();
      read();
    }, ms);
  };

  return {
    dueIn,
    start: () => {
      isStarted = true;
    },
    stop: () => {
      isStarted = false;
      clear();
    },
    begun: () => {
      clear();
      begunAtMs = now();
    },
    succeeded: () => {
      failures = 0;
      if (!isElsewhere) live.answered();
      dueIn(live.get().connection === 'live' ? whileLiveMs : everyMs);
    },
    failed: failure => {
      failures += 1;
      const askedMs = Math.min(longestWaitMs, (failure.retryAfterSeconds ?? 0) * 1000);
      notBeforeMs = now() + askedMs;
      if (!isElsewhere) live.failed(failure);
      clear();
      dueIn(Math.max(askedMs, Math.min(longestRetryMs, 1000 * 2 ** failures)));
    },
    wake: () => dueIn(Math.max(burstMs, begunAtMs + leastGapMs - now(), notBeforeMs - now())),
  };
};

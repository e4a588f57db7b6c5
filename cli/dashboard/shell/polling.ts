// Timing of reads: soon after an event, at intervals without events, and with growing delays after failures.
import type {CliError} from '../../errors.ts';
import type {Live} from './live.ts';

export interface PollingOptions {
  live: Pick<Live, 'get' | 'answered' | 'failed'>;
  now(): number;
  /** Called when a read is due. */
  read(): void;
  /** Between two reads while there are no events. */
  everyMs?: number | undefined;
  /** Between two reads while events report most changes. */
  whileLiveMs?: number | undefined;
  /** Between two reads, however many events there are. */
  minGapMs?: number | undefined;
  /** True for reads from other servers: their results say nothing about the node. */
  isElsewhere?: boolean | undefined;
}

export interface Polling {
  start(): void;
  stop(): void;
  /** A read begins; nothing else is due. */
  begun(): void;
  succeeded(): void;
  failed(failure: CliError): void;
  /** Something has changed. A read that is already due is not postponed, or many events would prevent it. */
  wake(): void;
  /** Due in so many milliseconds, if not before. */
  dueIn(ms: number): void;
}

const pollingMs = 5000;
/** Events may be missed, and some changes have none. */
const liveMs = 30_000;
/** A burst of events is read once. */
const burstMs = 300;
/** Keys have a rate limit, which other screens and programs share. */
const defaultGapMs = 1500;
const longestRetryMs = 15_000;
/** The longest Retry-After that is respected. A timer of more than 24 days fires at once. */
const longestWaitMs = 60_000;

export const createPolling = (needs: PollingOptions): Polling => {
  const {live, now, read, everyMs = pollingMs, minGapMs = defaultGapMs, isElsewhere = false} = needs;
  const {whileLiveMs = Math.max(liveMs, everyMs)} = needs;
  let isStarted = false;
  let timer: NodeJS.Timeout | undefined;
  let dueAtMs = Number.POSITIVE_INFINITY;
  let begunAtMs = Number.NEGATIVE_INFINITY;
  /** From Retry-After: a key over its limit still receives events. */
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
    wake: () => dueIn(Math.max(burstMs, begunAtMs + minGapMs - now(), notBeforeMs - now())),
  };
};

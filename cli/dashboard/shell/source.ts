// Source of data from the API, kept fresh while it has subscribers: it is read after events that concern it, and from time to
// time. The last value stays while the node does not answer, with its age.
import type {EventType} from '../../../shared/event-type.ts';
import {asCliError, type CliError} from '../../errors.ts';
import type {Live} from './live.ts';
import {createValue, type Watched} from './store.ts';

export interface Loaded<T> {
  value: T | undefined;
  /** When `value` was read. */
  loadedAtMs: number | undefined;
  /** Of the last attempt. */
  failure: CliError | undefined;
}

/** Reading goes on while there is a subscriber. */
export interface Source<T> extends Watched<Loaded<T>> {
  /** Reads now, or once more after the reading under way. */
  refresh(): void;
}

export interface SourceOptions<T> extends Omit<PollingOptions, 'live' | 'read'> {
  load(signal: AbortSignal): Promise<T>;
  live: Live;
  refreshOn: readonly EventType[];
}

/** An empty source for components that need none at the moment, as hooks must not be conditional. */
export const noSource: Source<never> = {
  get: () => nothing,
  subscribe: () => () => undefined,
  refresh: () => undefined,
};
const nothing: Loaded<never> = {value: undefined, loadedAtMs: undefined, failure: undefined};

export const createSource = <T>(needs: SourceOptions<T>): Source<T> => {
  const {load, live, refreshOn, now} = needs;
  const {get, subscribe, set} = createValue<Loaded<T>>(nothing);
  let listeners = 0;
  let running: AbortController | undefined;
  let isAgainWanted = false;
  let stops: (() => void)[] = [];

  const read = async (): Promise<void> => {
    if (running) {
      isAgainWanted = true;
      return;
    }
    polling.begun();
    running = new AbortController();
    const {signal} = running;
    try {
      const value = await load(signal);
      polling.succeeded();
      if (!signal.aborted) set({value, loadedAtMs: now(), failure: undefined});
    } catch (error) {
      if (!signal.aborted) {
        const failure = asCliError(error);
        polling.failed(failure);
        set({...get(), failure});
        isAgainWanted = false;
      }
    }
    running = undefined;
    if (isAgainWanted) polling.wake();
    isAgainWanted = false;
  };
  const polling = createPolling({...needs, read: () => void read()});

  const start = (): void => {
    // Without events the value may be out of date, and the node may not answer.
    stops = [live.on(refreshOn, polling.wake), whenEventsStop(live, polling.wake)];
    polling.start();
    void read();
  };
  const stop = (): void => {
    for (const end of stops) end();
    polling.stop();
    running?.abort();
  };

  return {
    get,
    subscribe: listener => {
      const leave = subscribe(listener);
      listeners += 1;
      if (listeners === 1) start();
      return () => {
        leave();
        listeners -= 1;
        if (listeners === 0) stop();
      };
    },
    refresh: () => void read(),
  };
};

const whenEventsStop = (live: Live, listener: () => void): (() => void) => {
  let wasLive = live.get().connection === 'live';
  return live.subscribe(() => {
    const isLive = live.get().connection === 'live';
    if (wasLive && !isLive) listener();
    wasLive = isLive;
  });
};

interface PollingOptions {
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

const createPolling = (needs: PollingOptions) => {
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
  /** Due in so many milliseconds, if not before: many events must not put a read off. */
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
    start: (): void => {
      isStarted = true;
    },
    stop: (): void => {
      isStarted = false;
      clear();
    },
    /** A read begins; nothing else is due. */
    begun: (): void => {
      clear();
      begunAtMs = now();
    },
    succeeded: (): void => {
      failures = 0;
      if (!isElsewhere) live.answered();
      dueIn(live.get().connection === 'live' ? whileLiveMs : everyMs);
    },
    failed: (failure: CliError): void => {
      failures += 1;
      const askedMs = Math.min(longestWaitMs, (failure.retryAfterSeconds ?? 0) * 1000);
      notBeforeMs = now() + askedMs;
      if (!isElsewhere) live.failed(failure);
      clear();
      dueIn(Math.max(askedMs, Math.min(longestRetryMs, 1000 * 2 ** failures)));
    },
    /** Something has changed. */
    wake: (): void => dueIn(Math.max(burstMs, begunAtMs + minGapMs - now(), notBeforeMs - now())),
  };
};

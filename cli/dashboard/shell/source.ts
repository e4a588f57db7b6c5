// Something read from the API and kept fresh as long as somebody looks: at once after an event that concerns it, otherwise from time to
// time. What was read last stays while the node is away, with its age.
import type {EventType} from '../../../shared/event-type.ts';
import {asCliError, type CliError} from '../../errors.ts';
import type {Live} from './live.ts';
import type {Watched} from './store.ts';

export interface Loaded<T> {
  value: T | undefined;
  /** When `value` was read. */
  loadedAtMs: number | undefined;
  /** Of the last attempt. */
  failure: CliError | undefined;
  isLoading: boolean;
}

/** Reading goes on while there is a subscriber. */
export interface Source<T> extends Watched<Loaded<T>> {
  /** Reads now, or again when it is reading already. */
  refresh(): void;
}

export interface SourceNeeds<T> {
  load(signal: AbortSignal): Promise<T>;
  live: Live;
  refreshOn: readonly EventType[];
  /** Between two reads while there are no events. */
  everyMs?: number;
  /** Between two reads while events tell most of it. */
  whileLiveMs?: number;
  /** True for what is not asked of the API: whether that answers is another question. */
  isElsewhere?: boolean;
  /** Between two reads, however many events there are. */
  leastGapMs?: number;
  now(): number;
}

const pollingMs = 5000;
/** Events may be missed and some things change without any. */
const liveMs = 30_000;
/** A burst of events is read once. */
const burstMs = 300;
/** A key may ask so and so often in a minute, and other screens and programs ask with it too. */
const usualGapMs = 1500;
const longestRetryMs = 15_000;
/** What a node may ask for with Retry-After. */
const longestWaitMs = 60_000;

/** Of what nobody wants at the moment: a component asks for its sources at every drawing, or not at all. */
export const noSource: Source<never> = {
  get: () => nothing,
  subscribe: () => () => undefined,
  refresh: () => undefined,
};
const nothing: Loaded<never> = {value: undefined, loadedAtMs: undefined, failure: undefined, isLoading: false};

export const createSource = <T>(needs: SourceNeeds<T>): Source<T> => {
  const {load, live, refreshOn, everyMs = pollingMs, leastGapMs = usualGapMs, isElsewhere = false, now} = needs;
  const {whileLiveMs = Math.max(liveMs, everyMs)} = needs;
  const listeners = new Set<() => void>();
  let loaded: Loaded<T> = {value: undefined, loadedAtMs: undefined, failure: undefined, isLoading: false};
  let timer: NodeJS.Timeout | undefined;
  let running: AbortController | undefined;
  let isAgainWanted = false;
  let failures = 0;
  let failedAtMs = 0;
  let startedAtMs = Number.NEGATIVE_INFINITY;
  let dueAtMs = Number.POSITIVE_INFINITY;
  let unhear = (): void => undefined;
  let wasLive = false;

  const set = (change: Partial<Loaded<T>>): void => {
    loaded = {...loaded, ...change};
    for (const listener of listeners) listener();
  };
  const schedule = (ms: number): void => {
    clearTimeout(timer);
    dueAtMs = now() + ms;
    timer = setTimeout(read, ms);
  };
  const pauseMs = (): number => {
    if (failures > 0) return Math.max(askedMs(), Math.min(longestRetryMs, 1000 * 2 ** failures));
    return live.get().connection === 'live' ? whileLiveMs : everyMs;
  };

  /** What the node has asked for: a key that is over its limit is told of events all the same. */
  const askedMs = (): number => {
    const waitMs = Math.min(longestWaitMs, (loaded.failure?.retryAfterSeconds ?? 0) * 1000);
    return waitMs === 0 ? 0 : failedAtMs + waitMs - now();
  };
  /** Not at once, and not too often; an event does not put off what is due already, or there would be no reading among many. */
  const soonMs = (): number => Math.max(burstMs, askedMs(), startedAtMs + leastGapMs - now());

  const attemptOf = async (signal: AbortSignal): Promise<void> => {
    try {
      const value = await load(signal);
      failures = 0;
      if (!isElsewhere) live.answered();
      if (!signal.aborted) set({value, loadedAtMs: now(), failure: undefined, isLoading: false});
    } catch (error) {
      if (signal.aborted) return;
      const failure = asCliError(error);
      failures += 1;
      failedAtMs = now();
      if (!isElsewhere) live.failed(failure);
      set({failure, isLoading: false});
    }
  };
  const read = async (): Promise<void> => {
    clearTimeout(timer);
    dueAtMs = Number.POSITIVE_INFINITY;
    if (running) {
      isAgainWanted = true;
      return;
    }
    const attempt = new AbortController();
    running = attempt;
    startedAtMs = now();
    // No news by itself: a quiet screen is drawn once for each read, not twice.
    loaded = {...loaded, isLoading: true};
    await attemptOf(attempt.signal);
    running = undefined;
    const isNextSoon = isAgainWanted && failures === 0;
    isAgainWanted = false;
    if (listeners.size > 0) schedule(isNextSoon ? soonMs() : pauseMs());
    else if (loaded.isLoading) set({isLoading: false});
  };
  /** Nothing tells of events any more: what is shown may be old, and the node away. */
  const lookAtLive = (): void => {
    const isLive = live.get().connection === 'live';
    if (wasLive && !isLive) wake();
    wasLive = isLive;
  };
  const wake = (): void => {
    if (running) isAgainWanted = true;
    else if (now() + soonMs() < dueAtMs) schedule(soonMs());
  };

  return {
    get: () => loaded,
    subscribe: listener => {
      listeners.add(listener);
      if (listeners.size === 1) {
        const stops = [live.on(refreshOn, wake), live.subscribe(lookAtLive)];
        unhear = () => {
          for (const stop of stops) stop();
        };
        wasLive = live.get().connection === 'live';
        void read();
      }
      return () => {
        listeners.delete(listener);
        if (listeners.size > 0) return;
        clearTimeout(timer);
        dueAtMs = Number.POSITIVE_INFINITY;
        unhear();
        running?.abort();
      };
    },
    refresh: () => void read(),
  };
};

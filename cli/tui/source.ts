// Something read from the API and kept fresh as long as somebody looks: at once after an event that concerns it, otherwise from time to
// time. What was read last stays while the node is away, with its age.
import type {EventType} from '../../shared/cluster-event.ts';
import {asCliError, type CliError} from '../cli-error.ts';
import type {Live} from './live.ts';

export interface Loaded<T> {
  value: T | undefined;
  /** When `value` was read. */
  loadedAtMs: number | undefined;
  /** Of the last attempt. */
  failure: CliError | undefined;
  isLoading: boolean;
}

export interface Source<T> {
  /** The same object until something changes. */
  get(): Loaded<T>;
  /** Reading goes on while there is a subscriber. */
  subscribe(listener: () => void): () => void;
  /** Reads now, or again when it is reading already. */
  refresh(): void;
}

export interface SourceNeeds<T> {
  load(signal: AbortSignal): Promise<T>;
  live: Live;
  refreshOn: readonly EventType[];
  /** Between two reads while there are no events. */
  everyMs?: number;
  now(): number;
}

const pollingMs = 5000;
/** Events may be missed and some things change without any. */
const liveMs = 30_000;
/** A burst of events is read once. */
const burstMs = 300;
const longestRetryMs = 15_000;

export const createSource = <T>({load, live, refreshOn, everyMs = pollingMs, now}: SourceNeeds<T>): Source<T> => {
  const listeners = new Set<() => void>();
  let loaded: Loaded<T> = {value: undefined, loadedAtMs: undefined, failure: undefined, isLoading: false};
  let timer: NodeJS.Timeout | undefined;
  let running: AbortController | undefined;
  let isAgainWanted = false;
  let failures = 0;
  let unhear = (): void => undefined;

  const set = (change: Partial<Loaded<T>>): void => {
    loaded = {...loaded, ...change};
    for (const listener of listeners) listener();
  };
  const schedule = (ms: number): void => {
    clearTimeout(timer);
    timer = setTimeout(read, ms);
  };
  const pauseMs = (): number => {
    if (failures > 0) return Math.min(longestRetryMs, 1000 * 2 ** failures);
    return live.state().standing === 'live' ? Math.max(liveMs, everyMs) : everyMs;
  };

  const read = async (): Promise<void> => {
    clearTimeout(timer);
    if (running) {
      isAgainWanted = true;
      return;
    }
    const attempt = new AbortController();
    running = attempt;
    set({isLoading: true});
    try {
      const value = await load(attempt.signal);
      failures = 0;
      live.answered();
      if (!attempt.signal.aborted) set({value, loadedAtMs: now(), failure: undefined, isLoading: false});
    } catch (error) {
      const failure = asCliError(error);
      if (!attempt.signal.aborted) {
        failures += 1;
        live.failed(failure);
        set({failure, isLoading: false});
      }
    } finally {
      running = undefined;
    }
    if (listeners.size === 0) return;
    schedule(isAgainWanted ? burstMs : pauseMs());
    isAgainWanted = false;
  };
  const wake = (): void => {
    if (running) isAgainWanted = true;
    else schedule(burstMs);
  };

  return {
    get: () => loaded,
    subscribe: listener => {
      listeners.add(listener);
      if (listeners.size === 1) {
        unhear = live.on(refreshOn, wake);
        void read();
      }
      return () => {
        listeners.delete(listener);
        if (listeners.size > 0) return;
        clearTimeout(timer);
        unhear();
        running?.abort();
      };
    },
    refresh: () => void read(),
  };
};

// The order in which the entries of a log are sent to a webhook.
//
//   flowing (8 under way) → some fail → `first`, the earliest of them, is tried again, and the others wait → it is taken → flowing
//   `first` has failed three times → another one is tried once → it is taken → `first` is set aside → flowing
import {timeAt} from '../time-at.ts';
import {type Deliver, isTaken} from './deliver.ts';
import {createLogWindow, type LogWindow, type Waiting} from './log-window.ts';
import type {Progress} from './progress.ts';
import type {RunnerNeeds} from './runner-needs.ts';
import type {StoredDelivery, StoredProgress} from './webhook-store.ts';
import {type PostResult, requestsAtOnce} from './webhook-transport.ts';

interface Parts {
  progress: Progress;
  deliver: Deliver;
  /** Others do not wait for it any more. Stores the progress as well. */
  setAside(delivery: StoredDelivery): Promise<void>;
  isOver(): boolean;
}

const idleMs = 1000;
/** After entries of which none is wanted. */
const passingMs = 5;
/** The clock may be set meanwhile. */
const longestSleepMs = 600_000;
const triesBeforeOthers = 3;
/** Of tries of others, while `first` waits for its next one: a receiver that is back does not wait as long. */
const betweenOthersMs = 300_000;
const soonMs = 5000;
const silenceMs = 75 * 3_600_000;

/** The next step, which resolves with how long to wait before the one after it, in milliseconds. */
export const createLogSending = (needs: RunnerNeeds, parts: Parts): (() => Promise<number>) => {
  const {progress} = parts;
  const window = createLogWindow(needs, progress);
  const {failed, retry} = createRetries(needs, parts, window);
  const flow = createFlow(parts, window);

  return async () => {
    if (progress.isSaveDue()) await progress.save();
    const {first} = progress.now();
    if (first) return retry(first);
    if (!window.head()) {
      const hasMore = await window.read();
      if (!window.head()) return hasMore ? passingMs : idleMs;
    }
    await flow();
    const head = window.head();
    if (head?.failure) await failed(head, 0, head.failure);
    return 0;
  };
};

/** Sends what was read, until one fails. What failed after the first of them is as good as not started. */
const createFlow =
  ({progress, deliver, isOver}: Parts, window: LogWindow): (() => Promise<void>) =>
  async () => {
    let hasFailed = false;
    const open = window.open();
    for (const entry of open) delete entry.failure;
    const next = () => (hasFailed || isOver() ? undefined : open.shift());
    const work = async (): Promise<void> => {
      for (let entry = next(); entry; entry = next()) {
        entry.state = 'started';
        const result = await deliver.send(entry.event, entry.number);
        if (result && isTaken(result)) {
          window.done(entry);
          if (progress.isSaveDue()) await progress.save();
        } else {
          entry.state = 'new';
          entry.failure = result;
          hasFailed = true;
        }
      }
    };
    const ends = await Promise.allSettled(Array.from({length: requestsAtOnce}, work));
    for (const end of ends) if (end.status === 'rejected') throw end.reason;
  };

/** Entries that fail while the same one is `first`. */
const createOthers = (window: LogWindow) => {
  let last: Waiting | undefined;
  return {
    haveFailed: () => last !== undefined,
    note(entry: Waiting): void {
      last = entry;
    },
    forget(): void {
      last = undefined;
    },
    /** Another one each time: several that cannot be taken may follow each other. */
    async next(): Promise<Waiting | undefined> {
      const open = () => window.open().slice(1);
      const next = () => open()[(last ? open().indexOf(last) : -1) + 1];
      if (!next()) await window.read();
      return next() ?? open()[0];
    },
  };
};

type First = NonNullable<StoredProgress['first']>;

const createRetries = ({webhook, loggedBy, clock}: RunnerNeeds, {progress, deliver, setAside}: Parts, window: LogWindow) => {
  const log = {webhook_id: webhook.id, logged_by: loggedBy};
  const othersFrom = (tries: number): number => (tries >= triesBeforeOthers ? 0 : Number.POSITIVE_INFINITY);
  /** When another entry may be tried, in milliseconds since 1970. */
  let anotherAt = othersFrom(progress.now().first?.tries ?? 0);
  const others = createOthers(window);

  const failed = async (entry: Waiting, before: number, result: PostResult): Promise<void> => {
    const tried = {number: entry.number, ...deliver.failed(result, before)};
    const {tries, tried_at, next_try_at, status, error} = tried;
    const failing_since = progress.now().failing_since ?? tried_at;
    anotherAt = othersFrom(tries);
    progress.set({failing_since, status, error, first: next_try_at === null ? null : {...tried, next_try_at}});
    // Where events are rare, one failure after a long time says little.
    const isSure = next_try_at === null || tries >= triesBeforeOthers;
    const silentMs = Date.parse(tried_at) - Date.parse(failing_since);
    if (isSure && silentMs >= silenceMs) deliver.disable(`it has taken nothing since ${failing_since}`);
    if (next_try_at !== null) return progress.save();
    window.done(entry);
    return setAside({...log, ...tried, is_given_up: true});
  };

  const tryFirst = async (entry: Waiting, {tries}: First): Promise<void> => {
    const result = await deliver.send(entry.event, entry.number);
    if (!result) return;
    if (!isTaken(result)) return failed(entry, tries, result);
    progress.set({first: null});
    others.forget();
    window.done(entry);
    return progress.save();
  };

  const tryAnother = async (entry: Waiting, [head, first]: [Waiting, First]): Promise<void> => {
    anotherAt = clock.now() + betweenOthersMs;
    const result = await deliver.send(entry.event, entry.number);
    if (!result) return;
    if (!isTaken(result)) return others.note(entry);
    progress.set({first: null});
    window.done(entry);
    window.done(head);
    // Where others failed as well, or there were none for hours, it was not because of this one.
    const wasAway = others.haveFailed() || first.tries > triesBeforeOthers;
    const next_try_at = wasAway ? timeAt(clock.now() + soonMs) : first.next_try_at;
    others.forget();
    return setAside({...log, ...first, next_try_at, is_given_up: false});
  };

  const retry = async (first: First): Promise<number> => {
    if (!window.head()) await window.read();
    const head = window.head();
    if (head?.number !== first.number) {
      progress.set({first: null});
      return 0;
    }
    const now = clock.now();
    const waitMs = Date.parse(first.next_try_at) - now;
    // The clock was ahead when it was tried.
    const isClockSetBack = Date.parse(first.tried_at) > now;
    if (waitMs <= 0 || isClockSetBack) return tryFirst(head, first).then(() => 0);
    if (anotherAt > now) return Math.min(waitMs, anotherAt - now, longestSleepMs);
    const other = await others.next();
    if (!other) return Math.min(waitMs, idleMs);
    return tryAnother(other, [head, first]).then(() => 0);
  };

  return {failed, retry};
};

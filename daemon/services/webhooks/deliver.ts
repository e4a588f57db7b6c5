// One try of one event, and what follows from its failure.
import type {MailEvent} from '../../../shared/mail-event.ts';
import type {Progress} from './progress.ts';
import {nextTryAt} from './retry-schedule.ts';
import type {RunnerNeeds} from './runner-needs.ts';
import {messageOf, signed} from './signed-message.ts';
import type {PostResult} from './webhook-transport.ts';

export interface Deliver {
  /** Undefined when the runner has ended before the receiver took the event. */
  send(event: MailEvent, number: number): Promise<PostResult | undefined>;
  /** When an event is tried again after it has failed `tries` times, in milliseconds since 1970; undefined when it is given up. */
  nextTryAt(result: PostResult, tries: number): number | undefined;
  /** Ends the runner, and has the webhook disabled. */
  disable(because: string): void;
}

interface Runner {
  progress: Progress;
  isOver(): boolean;
  /** Ends requests under way. */
  cut: AbortSignal;
  onDisable(because: string): void;
}

const refusedTries = 2;

export const isTaken = ({error}: PostResult): boolean => error === null;

/** The receiver rejects the event itself: it will hardly take the same one later. */
const isRefused = ({status}: PostResult): boolean => status !== null && status >= 400 && status < 500 && status !== 429;

export const createDeliver = (
  {webhook, post, version, clock, random, onResult}: RunnerNeeds,
  {progress, isOver, cut, onDisable}: Runner,
): Deliver => {
  const {url, secret} = webhook;
  return {
    async send(event, number) {
      const message = signed(messageOf(event, number), {secret, version, now: clock.now()});
      const result = await post({url, ...message, signal: cut});
      const {status, error} = result;
      const at = new Date(clock.now()).toISOString();
      if (isTaken(result)) {
        onResult('taken');
        progress.set({delivered_at: at, failing_since: null, status, error});
        return result;
      }
      if (isOver()) return undefined;
      onResult('failed');
      if (status !== 410) return result;
      progress.set({failing_since: progress.now().failing_since ?? at, status, error});
      onDisable('it answered 410 (Gone)');
      return undefined;
    },
    nextTryAt: (result, tries) =>
      isRefused(result) && tries >= refusedTries
        ? undefined
        : nextTryAt(tries, {now: clock.now(), retryAfterMs: result.retryAfterMs, random: random()}),
    disable: onDisable,
  };
};

// One try of one event, and what follows from its failure.
import type {MailEvent} from '../../../shared/mail-event.ts';
import {timeAt} from '../time-at.ts';
import type {Progress} from './progress.ts';
import {nextTryAt} from './retry-schedule.ts';
import type {RunnerNeeds} from './runner-needs.ts';
import {messageOf, signed} from './signed-message.ts';
import type {StoredDelivery} from './webhook-store.ts';
import type {PostResult} from './webhook-transport.ts';

type Tried = Pick<StoredDelivery, 'tries' | 'tried_at' | 'next_try_at' | 'status' | 'error'>;

export interface Deliver {
  /** Undefined when the runner has ended before the receiver took the event. */
  send(event: MailEvent, number: number): Promise<PostResult | undefined>;
  /** What to store of an event that has failed, after it had failed `before` times. Without a next try it is given up. */
  failed(result: PostResult, before: number): Tried;
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
      const at = timeAt(clock.now());
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
    failed(result, before) {
      const {status, error, retryAfterMs} = result;
      const now = clock.now();
      const tries = before + 1;
      const isLast = isRefused(result) && tries >= refusedTries;
      const nextAt = isLast ? undefined : nextTryAt(tries, {now, retryAfterMs, random: random()});
      if (nextAt === undefined) onResult('given_up');
      return {tries, tried_at: timeAt(now), next_try_at: nextAt === undefined ? null : timeAt(nextAt), status, error};
    },
    disable: onDisable,
  };
};

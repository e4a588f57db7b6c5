// Events that were not taken and that others do not wait for: each has a schedule of its own.
import {shownEvents} from '../events/trace.ts';
import {timeAt} from '../time-at.ts';
import {type Deliver, isTaken} from './deliver.ts';
import type {Progress} from './progress.ts';
import type {RunnerNeeds} from './runner-needs.ts';
import type {StoredDelivery} from './webhook-store.ts';
import {requestsAtOnce} from './webhook-transport.ts';

const idleMs = 1000;
const tidyMs = 600_000;
const mostGivenUp = 10_000;
const lastTime = '9999-12-31T23:59:59.999Z';

export const createSetAside = (
  {webhook, loggedBy, store, clock}: RunnerNeeds,
  {progress, deliver}: {progress: Progress; deliver: Deliver},
) => {
  const log = {webhook_id: webhook.id, logged_by: loggedBy};
  const waiting = {...log, isGivenUp: false};
  /** Of the earliest, as far as is known: nothing is read before. */
  let dueAt = 0;
  /** When that was read. */
  let readAt = 0;
  let tidyAt = clock.now() + tidyMs;

  const set = async (delivery: StoredDelivery): Promise<void> => {
    await progress.save(async webhooks => webhooks.put(delivery));
    if (delivery.next_try_at !== null) dueAt = Math.min(dueAt, Date.parse(delivery.next_try_at));
  };

  const remove = async ({number}: StoredDelivery): Promise<void> =>
    progress.save(async webhooks => webhooks.remove({...log, number}));

  const retry = async (delivery: StoredDelivery): Promise<void> => {
    const entries = await store.events.ofNumbers(loggedBy, [delivery.number]);
    const [event] = await shownEvents({store, nodeId: loggedBy}, entries);
    if (!event) return remove(delivery);
    const result = await deliver.send(event, delivery.number);
    if (!result) return;
    if (isTaken(result)) return remove(delivery);
    const tried = deliver.failed(result, delivery.tries);
    await set({...delivery, ...tried, is_given_up: tried.next_try_at === null});
  };

  const retryDue = async (): Promise<number> => {
    dueAt = Number.POSITIVE_INFINITY;
    readAt = clock.now();
    try {
      const due = await store.webhooks.deliveries({...waiting, dueAt: timeAt(clock.now()), limit: requestsAtOnce});
      const ends = await Promise.allSettled(due.map(retry));
      for (const end of ends) if (end.status === 'rejected') throw end.reason;
      const [next] = await store.webhooks.deliveries({...waiting, dueAt: lastTime, limit: 1});
      if (next) dueAt = Math.min(dueAt, Date.parse(next.next_try_at ?? ''));
      return 0;
    } catch (error) {
      dueAt = 0;
      throw error;
    }
  };

  return {
    /** Stores it, and the progress with it. */
    set,
    async step(): Promise<number> {
      if (clock.now() >= tidyAt) {
        tidyAt = clock.now() + tidyMs;
        const gone = await store.events.forgottenUpTo(loggedBy);
        await progress.save(async webhooks => webhooks.forgetGivenUp(log, gone, mostGivenUp));
      }
      const isClockSetBack = clock.now() < readAt;
      return clock.now() >= dueAt || isClockSetBack ? retryDue() : idleMs;
    },
  };
};

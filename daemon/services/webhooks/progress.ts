// How far a log was sent to a webhook, in memory and in the store.
import {placeAfter} from '../events/mail-event.ts';
import type {RunnerNeeds} from './runner-needs.ts';
import type {SentLog, StoredProgress, WebhookStore} from './webhook-store.ts';

/** The log is another node's to send by now. */
export class LostLog extends Error {
  override readonly name = 'LostLog';
}

export interface Progress {
  now(): StoredProgress;
  set(fields: Partial<StoredProgress>): void;
  /** Whether there is something to store that may be stored: once a second is enough, as a receiver may get an event twice. The clock may be set meanwhile. */
  isSaveDue(): boolean;
  /**
   * Stores it, with other changes in the same transaction. What could not be stored is stored with the next call. Rejects with LostLog.
   */
  save(other?: (webhooks: WebhookStore) => Promise<void>): Promise<void>;
  /** Goes on after what was sent, where the place is not in the log: the log was restored, or the next entries are gone. */
  skipGone(): Promise<void>;
}

const saveMs = 1000;
const microseconds = (time: string): number => Date.parse(time) * 1000;

export const openProgress = async (needs: RunnerNeeds): Promise<Progress> => {
  const {webhook, loggedBy, store, clock, onMissed} = needs;
  const log: SentLog = {webhook_id: webhook.id, logged_by: loggedBy};
  const stored = (await store.webhooks.progress(webhook.id)).find(({logged_by}) => logged_by === loggedBy);
  let current = stored ?? beginOf(log, microseconds(webhook.created_at));
  let isChanged = false;
  let savedAt = clock.now();
  let saving: Promise<unknown> = Promise.resolve();
  let others: ((webhooks: WebhookStore) => Promise<void>)[] = [];

  const set: Progress['set'] = fields => {
    current = {...current, ...fields};
    isChanged = true;
  };

  const write = async (): Promise<void> => {
    if (!isChanged && others.length === 0) return;
    // At one moment: what is done by the one is a delivery by the others.
    const [written, along] = [current, others];
    savedAt = clock.now();
    isChanged = false;
    others = [];
    try {
      const isWritten = await needs.write(async webhooks => {
        for (const other of along) await other(webhooks);
        await webhooks.save(written);
      });
      if (!isWritten) throw new LostLog();
    } catch (error) {
      isChanged = true;
      others = [...along, ...others];
      throw error;
    }
  };
  const save: Progress['save'] = async other => {
    if (other) others.push(other);
    // One after the other: an earlier state must not overwrite a later one.
    const written = saving.then(write);
    saving = written.catch(() => {});
    return written;
  };

  const skipGone = async (): Promise<void> => {
    const gone = await store.events.forgottenUpTo(loggedBy);
    if (gone > current.number) {
      set({missed_at: new Date(clock.now()).toISOString(), number: gone});
      onMissed();
    }
    set({place: placeAfter(current.number), first: null});
  };

  const replay = async ({at, since, is_fresh_start}: NonNullable<typeof webhook.replay>): Promise<void> => {
    // What is gone from the log was not asked for.
    const from = Math.max(microseconds(since) - 1, await store.events.forgottenUpTo(loggedBy));
    if (is_fresh_start || from < current.number) set(startAt(from));
    set({replayed_at: at, first: null, failing_since: null});
    await save(async webhooks => webhooks.restart(log, from + 1, is_fresh_start ? 'waiting' : 'none'));
  };

  if (webhook.replay && webhook.replay.at !== current.replayed_at) await replay(webhook.replay);
  else if ((await store.events.forgottenUpTo(loggedBy)) > current.number) await skipGone();
  return {
    now: () => current,
    set,
    isSaveDue: () => isChanged && Math.abs(clock.now() - savedAt) >= saveMs,
    save,
    skipGone,
  };
};

const startAt = (number: number) => ({place: placeAfter(number), number, from: number});

const beginOf = (log: SentLog, number: number): StoredProgress => ({
  ...log,
  ...{...startAt(number), first: null, delivered_at: null, failing_since: null},
  ...{status: null, error: null, missed_at: null, replayed_at: null},
});

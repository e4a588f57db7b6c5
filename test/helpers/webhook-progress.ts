// How far a log was sent to a webhook that takes all.
import {placeAfter} from '../../daemon/services/events/mail-event.ts';
import type {SentLog, StoredProgress} from '../../daemon/services/webhooks/webhook-store.ts';

export const progressOf = (log: SentLog, number: number): StoredProgress => ({
  ...log,
  ...{place: placeAfter(number), number, from: 0, first: null, delivered_at: null, failing_since: null},
  ...{status: 200, error: null, missed_at: null, replayed_at: null},
});

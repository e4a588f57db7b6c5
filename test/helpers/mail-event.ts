// Entries of the event log, a second apart.
import {unknownMail} from '../../daemon/services/events/held-event.ts';
import type {NewMailEvent} from '../../daemon/services/events/mail-event.ts';
import type {Store} from '../../daemon/services/ports.ts';

/** Milliseconds since 1970 of second 0. */
export const start = Date.UTC(2026, 2, 1);
export const at = (seconds: number): string => new Date(start + seconds * 1000).toISOString();

/** Of the mail Mail1000 in second 0, of Mail1001 in the next one. */
export const relayedEvent = (seconds: number, fields: Partial<NewMailEvent> = {}): NewMailEvent => ({
  ...unknownMail,
  event: 'relayed',
  at: at(seconds),
  queue_id: `Mail${1000 + seconds}`,
  domain: 'one.test',
  domain_id: 1,
  ...fields,
});

export const append = async (store: Store, ...events: NewMailEvent[]): Promise<void> =>
  store.transaction(async tx => tx.events.append(events));

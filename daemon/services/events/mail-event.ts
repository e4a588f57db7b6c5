// Entries of the event log, as the store has them, and what can be asked of it.

import type {TraceFilter} from '../../../shared/hold-filter.ts';
import type {MailEvent} from '../../../shared/mail-event.ts';
import type {MailEventName} from '../../../shared/mail-event-name.ts';
import type {AccessScope} from '../../../shared/scopes.ts';

/** An entry before it is stored. `recipients` are all of them. */
export interface NewMailEvent extends Omit<MailEvent, 'id' | 'node_id' | 'recipient_count' | 'key_name'> {
  /** The domain that the mail belongs to. */
  domain_id: number | null;
}

/**
 * `number`: the place of the entry in the log of its node, in microseconds since 1970, when it was written; it only increases, whatever the
 * clock does.
 */
export interface StoredMailEvent extends Omit<MailEvent, 'id' | 'node_id' | 'key_name'> {
  number: number;
  domain_id: number | null;
  /** The node that has the mail, and the one that wrote the entry; only in a store that all nodes share. */
  node_id?: string;
  logged_by?: string;
}

/**
 * A place in the merged log, newest first. After it come the entries with a smaller number, and of those with the same one those of nodes
 * later in the alphabet. Where a store has the entries of one node only, `logged_by` is empty.
 */
export interface TracePosition {
  number: number;
  logged_by: string;
}

export interface TracePage {
  limit: number;
  /** Only entries older than it. */
  before?: TracePosition;
}

/** Which entries of a page are wanted; the others are passed over. */
export interface EventChoice {
  events: readonly MailEventName[];
  reach: AccessScope;
  /** Only what this node wrote, in a store that all nodes share; without it: all. */
  loggedBy?: string;
  /** How many entries are read at most, wanted or not. */
  limit: number;
}

/**
 * A part of the log of this node, or of all nodes that share its store, in the order in which it grows. A place is a text that only the
 * store reads: the epoch of the log, which is new after it was restored from a backup, and the number of an entry; or a time, see
 * `placeAt`.
 */
export interface EventPage {
  entries: {place: string; entry: StoredMailEvent}[];
  /** How far was read. */
  place: string;
  /** Whether there were entries, wanted or not. */
  hasRead: boolean;
  /** The greatest number among those of `loggedBy`, wanted or not; undefined without any. */
  last: number | undefined;
  /** `after` is not in the log: it was restored, or the next entries are gone. There are no entries then, and `place` is the end. */
  isGap: boolean;
  hasMore: boolean;
  /** There are entries that cannot be read yet, because of a transaction that began before theirs. */
  isWaiting: boolean;
}

/** The place in any log after what was logged up to this time. */
export const placeAt = (timeMs: number): string => placeAfter(Math.max(0, timeMs * 1000));

/**
 * The place in any log after the entry with this number. With `loggedBy`, entries with smaller numbers may come once more in a store that
 * all nodes share, and none with a larger one is passed over.
 */
export const placeAfter = (number: number): string => `@${number.toString(36)}`;

export interface EventReads {
  /** The entries after a place. Without one there are none, and `place` is the end. */
  follow(after: string | undefined, choice: EventChoice): Promise<EventPage>;
  /** The matches, newest first. */
  find(filter: TraceFilter, reach: AccessScope, page: TracePage): Promise<StoredMailEvent[]>;
  /**
   * The entries of this node after which Postfix had a mail under one of these queue ids (`queueIdAtPostfix`), newest first. Of each id the
   * newest hundred of the mail with this id here, and the newest hundred of other mail.
   */
  handedOver(queueIds: readonly string[]): Promise<StoredMailEvent[]>;
  /** The entries that a node wrote with these numbers, oldest first, without those that are gone; a store of one node has only its own. */
  ofNumbers(loggedBy: string, numbers: readonly number[]): Promise<StoredMailEvent[]>;
  /** How many entries this node has written that are still there. */
  count(): Promise<number>;
  /** The greatest number among the entries of a node that were removed because of their age or of too many; 0 before the first. */
  forgottenUpTo(loggedBy: string): Promise<number>;
}

export interface EventLog extends EventReads {
  append(events: readonly NewMailEvent[]): Promise<void>;
  /** Adds entries from another place, which keep their numbers. Later ones get larger numbers. Of many recipients only those in the entry are found. */
  move(events: readonly StoredMailEvent[]): Promise<void>;
  /**
   * Merges a part of the index that is due for it, after entries have come or gone; false when none is. In a transaction of its own, as
   * other writers wait for it.
   */
  tidy(): Promise<boolean>;
  /** Deletes the oldest entries of this node: those before `before`, ISO 8601, and `surplus` others; at most `limit`. Returns how many. */
  forget(oldest: {before: string; surplus: number; limit: number}): Promise<number>;
}

const handing: ReadonlySet<string> = new Set(['relayed', 'held', 'released', 'lost', 'sent'] satisfies MailEventName[]);

/**
 * The queue id under which Postfix has a mail after an event. Postfix may be the server that took it, or the one before it that asks mfd;
 * the reply of either ends with the id. Undefined where Postfix does not have it, or nobody says so.
 */
export const queueIdAtPostfix = ({
  event,
  queue_id,
  reply,
}: Pick<MailEvent, 'event' | 'queue_id' | 'reply'>): string | undefined => {
  if (!handing.has(event)) return undefined;
  // Content filters put the reply of the next server in parentheses.
  const said = / queued as ([0-9A-Za-z]{6,64})\)?$/.exec(reply ?? '')?.[1];
  return said ?? (event === 'relayed' || event === 'sent' ? undefined : (queue_id ?? undefined));
};

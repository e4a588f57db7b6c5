// Entries of the event log, as the store has them, and what can be asked of it.

import type {TraceFilter} from '../../../shared/hold-filter.ts';
import type {MailEvent} from '../../../shared/mail-event.ts';
import type {AccessScope} from '../../../shared/scopes.ts';

/** An entry before it is stored. `recipients` are all of them. */
export interface NewMailEvent extends Omit<MailEvent, 'id' | 'node_id' | 'recipient_count' | 'key_name'> {
  /** The domain that the mail belongs to. */
  domain_id: number | null;
}

/** `number`: the place of the entry in the log of its node, in microseconds since 1970; it only increases, whatever the clock does. */
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

export interface EventReads {
  /** The matches, newest first. */
  find(filter: TraceFilter, reach: AccessScope, page: TracePage): Promise<StoredMailEvent[]>;
  /** How many entries this node has written that are still there. */
  count(): Promise<number>;
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

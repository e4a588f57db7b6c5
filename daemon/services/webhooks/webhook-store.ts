// Port to what this node knows of webhooks beside their records: how far each log was sent, and what was not taken at first. None of it
// replicates: the node that logged an event sends it.
import type {WebhookDelivery} from '../../../shared/webhook.ts';

/** The log of one node, as it is sent to one webhook. */
export interface SentLog {
  webhook_id: number;
  /** The node that wrote the entries. */
  logged_by: string;
}

/** Times are ISO 8601. */
export interface StoredProgress extends SentLog {
  /** All entries up to it are taken, or are deliveries of their own. See `EventPage`. */
  place: string;
  /** The greatest number up to it, in microseconds since 1970; where to go on when `place` is not in the log. */
  number: number;
  /** Entries up to this number are not sent: they were logged before the webhook was made, or before the time of a replay. */
  from: number;
  /** The entry that failed and that later ones wait for. */
  first: (Pick<StoredDelivery, 'number' | 'tries' | 'tried_at' | 'status' | 'error'> & {next_try_at: string}) | null;
  delivered_at: string | null;
  failing_since: string | null;
  status: number | null;
  error: string | null;
  missed_at: string | null;
  /** `replay.at` of the last replay that was begun. */
  replayed_at: string | null;
}

/** An entry that others do not wait for any more. Of its content there is only what the log has. */
export interface StoredDelivery
  extends SentLog,
    Pick<WebhookDelivery, 'tries' | 'tried_at' | 'next_try_at' | 'status' | 'error'> {
  number: number;
  is_given_up: boolean;
}

export interface DeliveryCounts extends SentLog {
  waiting: number;
  given_up: number;
}

interface DeliveryChoice extends Partial<SentLog> {
  isGivenUp?: boolean;
  /** Only what is due at this time, ISO 8601, or was tried by a clock that was ahead of it; the earliest first. */
  dueAt?: string;
  limit: number;
}

export interface WebhookReads {
  progress(webhookId?: number): Promise<StoredProgress[]>;
  counts(webhookId?: number): Promise<DeliveryCounts[]>;
  /** The newest first. */
  deliveries(choice: DeliveryChoice): Promise<StoredDelivery[]>;
}

export interface WebhookStore extends WebhookReads {
  save(progress: StoredProgress): Promise<void>;
  put(delivery: StoredDelivery): Promise<void>;
  remove(delivery: SentLog & {number: number}): Promise<void>;
  /** Drops the deliveries of entries from this number on; with `waiting` the earlier ones that wait as well. */
  restart(log: SentLog, from: number, earlier: 'waiting' | 'none'): Promise<void>;
  /** Drops what was given up of entries up to this number, and all but the newest `most` of the webhook. */
  forgetGivenUp(log: SentLog, upTo: number, most: number): Promise<void>;
  /** Drops what is of other webhooks. */
  keepOnly(webhookIds: readonly number[]): Promise<void>;
}

// What the runner of a log and its parts need.
import type {Store} from '../ports.ts';
import type {StoredWebhook} from '../records.ts';
import type {WebhookStore} from './webhook-store.ts';
import type {Post} from './webhook-transport.ts';

export interface Clock {
  now(): number;
  /** Resolves after `ms`, or when `signal` aborts. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}

export interface RunnerNeeds {
  webhook: StoredWebhook;
  /** The node whose log is sent. */
  loggedBy: string;
  store: Pick<Store, 'config' | 'events' | 'webhooks'>;
  /** One transaction. False, and nothing is written, when the log is another node's to send by now. */
  write(work: (webhooks: WebhookStore) => Promise<void>): Promise<boolean>;
  post: Post;
  version: string;
  clock: Clock;
  random(): number;
  /** The webhook has to be disabled; the runner has ended. */
  onDisable(because: string): void;
  onResult(result: 'taken' | 'failed' | 'given_up'): void;
  /** Entries were gone from the log before they were sent. */
  onMissed(): void;
  onFailure(error: unknown): void;
}

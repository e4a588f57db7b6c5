// Port of a hold queue: one interface for a node's own and for those of its peers.

import type {Readable} from 'node:stream';
import type {ActionOutcome, HeldMail, HeldMailDetail, HoldAction, Summary} from '../../../shared/held-mail.ts';
import type {HoldFilter, Page} from '../../../shared/hold-filter.ts';
import type {Actor} from '../access/actor.ts';
import type {Samples, Steps} from './merged-list.ts';

/** A cursor in the list of held mails, which is ordered by `arrived_at` descending, then `node_id`, then `queue_id`. */
export type HoldCursor = Pick<HeldMail, 'arrived_at' | 'node_id' | 'queue_id'>;

export interface HeldMailPage {
  mails: HeldMail[];
  /** The number of all matches, not only of this page. */
  total: number;
}

/** A body as a stream, which the caller must read once or destroy. */
export interface MailBody {
  sizeBytes: number;
  stream: Readable;
}

/** The hold queue of one node: its spool or Postfix, or a peer's over mutual TLS. Calls are limited to the actor's access scope. */
export interface HoldQueue {
  readonly nodeId: string;
  /** How many actions may run at the same time. */
  readonly actsAtOnce: number;
  list(filter: HoldFilter, page: Page, actor: Actor): Promise<HeldMailPage>;
  /** Cursors of some of the matches, see `readMerged`. */
  samples(filter: HoldFilter, steps: Steps, actor: Actor): Promise<Samples<HoldCursor>>;
  /** The number of matches before a cursor. */
  positionOf(filter: HoldFilter, cursor: HoldCursor, actor: Actor): Promise<number>;
  summary(filter: HoldFilter, actor: Actor): Promise<Summary>;
  get(queueId: string, actor: Actor): Promise<HeldMailDetail>;
  body(queueId: string, actor: Actor): Promise<MailBody>;
  /** A mail is released when the backend has answered 250 for every recipient. */
  act(action: HoldAction, queueId: string, actor: Actor): Promise<ActionOutcome>;
}

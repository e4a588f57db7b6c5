// Port of a hold queue: one interface for a node's own and for those of its peers.
import type {Readable} from 'node:stream';
import type {ActionOutcome, HeldMail, HeldMailDetail, HoldAction, Summary} from '../../../shared/held-mail.ts';
import type {HoldFilter, Page} from '../../../shared/hold-filter.ts';
import type {Actor} from '../ports.ts';
import type {Samples, Steps} from './merged-list.ts';

/** A cursor in the list of held mails, which is ordered by `arrived_at` descending, then `node_id`, then `queue_id`. */
export type HoldCursor = Pick<HeldMail, 'arrived_at' | 'node_id' | 'queue_id'>;

export interface HeldMailPage {
  mails: HeldMail[];
  /** All matches, not only this page. */
  total: number;
}

/** To be read once, or destroyed. */
export interface MailBody {
  sizeBytes: number;
  stream: Readable;
}

/** One node's hold queue: its own spool, its Postfix, or a peer's behind mutual TLS. The actor's reach narrows to one domain. */
export interface HoldQueue {
  readonly nodeId: string;
  /** How many acts it takes at the same time. */
  readonly actsAtOnce: number;
  list(filter: HoldFilter, page: Page, actor: Actor): Promise<HeldMailPage>;
  /** Cursors of some of the matches, see `readMerged`. */
  samples(filter: HoldFilter, steps: Steps, actor: Actor): Promise<Samples<HoldCursor>>;
  /** How many matches come before a cursor. */
  positionOf(filter: HoldFilter, cursor: HoldCursor, actor: Actor): Promise<number>;
  summary(filter: HoldFilter, actor: Actor): Promise<Summary>;
  get(queueId: string, actor: Actor): Promise<HeldMailDetail>;
  body(queueId: string, actor: Actor): Promise<MailBody>;
  /** Released means the backend has answered 250 for every recipient. */
  act(action: HoldAction, queueId: string, actor: Actor): Promise<ActionOutcome>;
}

// Held mail as it is stored, its states, and the port of a hold queue.

import type {
  ActedState,
  ActionOutcome,
  HeldMail,
  HeldMailDetail,
  HoldAction,
  Summary,
  TrainingClass,
  TrainingOutcome,
} from '../../../shared/held-mail.ts';
import type {HoldFilter, Page} from '../../../shared/hold-filter.ts';
import type {MailEvent} from '../../../shared/mail-event.ts';
import type {Reason} from '../../../shared/reason.ts';
import type {Actor} from '../actor.ts';
import type {MailBody} from '../intake/mail.ts';
import type {Samples, Steps} from '../peers/merged-list.ts';

/**
 * held → releasing → released; held → discarding → discarded or expired, or directly from held if there is nothing to do before.
 * held → lost → held: the bytes in the spool disappeared, and came back, without an action of mfd.
 * held → gone: the mail left the hold queue of Postfix without an action of mfd.
 */
export const heldStates = ['held', 'releasing', 'discarding', 'released', 'discarded', 'expired', 'lost', 'gone'] as const;
export type HeldState = (typeof heldStates)[number];

/** A sum of scores without the noise of its last digits: 0.3 for 0.1 + 0.2. */
export const shownScore = (score: number): number => Number(score.toPrecision(15));

/** The place of the bytes: the spool of this node, or the hold queue of its Postfix. */
export type HoldBackendName = 'spool' | 'postfix';

export interface StoredHeldMail extends Omit<HeldMailDetail, 'node_id' | 'symbols' | 'release_requested' | 'recipient_states'> {
  state: HeldState;
  domain_id: number;
  is_utf8: boolean;
  is_eight_bit: boolean;
  keeper: HoldBackendName;
  /** When Postfix created its queue file, in seconds since 1970; null for mail in the spool, and until Postfix has been asked. */
  queued_at: number | null;
  /** SHA-256 of the bytes in the spool; empty for mail in Postfix. */
  sha256: string;
  acted_at: string | null;
  acted_by_key_id: number | null;
}

export type NewHeldMail = Omit<StoredHeldMail, 'state' | 'acted_at' | 'acted_by_key_id'> & {
  /** For the event log; undefined for mail that was found, and not received now. */
  arrival?: Arrival | undefined;
};

/** What the row of a held mail does not have. */
export interface Arrival extends Pick<MailEvent, 'message_id' | 'reply' | 'took_ms'> {
  client_name: string | null;
  tls: boolean;
}

/** Whether the mail is still held, and therefore listed. */
export const isHeld = ({state}: Pick<StoredHeldMail, 'state'>): boolean =>
  state === 'held' || state === 'releasing' || state === 'discarding';

/** Whether Postfix has it, which releases and discards it for all of its recipients together. */
const isWhole = ({keeper, recipients}: Pick<StoredHeldMail, 'keeper' | 'recipients'>): boolean =>
  keeper === 'postfix' && new Set(recipients).size > 1;

/** The action on a mail for one of its recipients, for whom it is not held any more. */
export interface RecipientAct {
  address: string;
  state: ActedState;
  acted_at: string;
  acted_by_key_id: number | null;
}

/** A recipient has asked an administrator for a mail. */
export interface ReleaseRequest {
  queue_id: string;
  address: string;
  requested_at: string;
}

export interface Claim {
  state: ClaimedState;
  keyId: number | null;
}

export const claimedStates = ['releasing', 'discarding'] as const;
export type ClaimedState = (typeof claimedStates)[number];

export interface Ending {
  state: ActedState | 'expired' | 'lost' | 'gone';
  at: string;
  keyId: number | null;
  /** For the event log: what servers answered to released mail, by queue id. */
  delivered?: ReadonlyMap<string, Delivered>;
}

/** The end of a mail for some of its recipients. */
export interface PartEnding extends Pick<Ending, 'at' | 'keyId'> {
  addresses: readonly string[];
  state: ActedState;
  delivered: Delivered | undefined;
}

/** The answer of the server that took a mail. */
export type Delivered = Pick<MailEvent, 'reply' | 'server'>;

/** The only symbol of mail that was put on hold by Postfix's rules or by hand, and that mfd has not scored. */
export const unjudged = 'POSTFIX_HOLD';
export const unjudgedSymbols = [{name: unjudged, score: 0}];

/**
 * Whether one of its recipients may release it for himself: not what Postfix would release for others, too, and not what somebody put on hold
 * by hand or by a rule.
 */
export const isForRecipients = (mail: Pick<StoredHeldMail, 'keeper' | 'recipients' | 'symbol_scores'>): boolean =>
  !isWhole(mail) && !mail.symbol_scores.some(({name}) => name === unjudged);

/** Held mail of one domain and reason. */
export interface HeldGroupKey {
  domain_id: number;
  domain: string;
  reason: Reason;
}

/** Mail of a group that arrived before `before`, ISO 8601. */
export interface ArrivalLimit extends HeldGroupKey {
  before: string;
}

export interface HeldCount extends HeldGroupKey {
  count: number;
  size_bytes: number;
}

export interface SpoolOverview {
  /** Queue ids of rows that contradict themselves, and so must be damaged. */
  odd: string[];
  /** Those of mails that a release or discard had begun. */
  claimed: string[];
}

export interface PostfixMail {
  queue_id: string;
  state: HeldState;
  queued_at: number | null;
  acted_at: string | null;
  /** The key that has started or finished an action on the mail. */
  acted_by_key_id: number | null;
}

export interface Confirmation {
  queueId: string;
  queuedAt: number;
  sizeBytes: number;
}

export interface Description {
  from: string[];
  subject: string;
  client_ip: string;
  helo: string;
}

/** A cursor in the list of held mails, which is ordered by `arrived_at` descending, then `node_id`, then `queue_id`. */
export type HoldCursor = Pick<HeldMail, 'arrived_at' | 'node_id' | 'queue_id'>;

export interface HeldMailPage {
  mails: HeldMail[];
  /** The number of all matches, not only of this page. */
  total: number;
}

/** The hold queue of one node: its spool or Postfix, or a peer's over mutual TLS. Calls are limited to the actor's access scope. */
export interface HoldQueue {
  readonly nodeId: string;
  /** How many actions may run at the same time. */
  readonly actsAtOnce: number;
  list(filter: HoldFilter, page: Page, actor: Actor): Promise<HeldMailPage>;
  summary(filter: HoldFilter, actor: Actor): Promise<Summary>;
  get(queueId: string, actor: Actor): Promise<HeldMailDetail>;
  body(queueId: string, actor: Actor): Promise<MailBody>;
  /**
   * A mail is released when the backend has answered 250 for every recipient. With `recipients` it is for these only, and stays held for
   * the others.
   */
  act(action: HoldAction, queueId: string, actor: Actor, recipients?: readonly string[]): Promise<ActionOutcome>;
  /** Lets the scanner of the node that runs it learn a held mail, which stays held. */
  train(as: TrainingClass, queueId: string, actor: Actor): Promise<TrainingOutcome>;
}

/** The hold queue of a node with a store of its own, whose list is merged with those of the others. */
export interface ListedQueue extends HoldQueue {
  /** Cursors of some of the matches, see `readMerged`. */
  samples(filter: HoldFilter, steps: Steps, actor: Actor): Promise<Samples<HoldCursor>>;
  /** The number of matches before a cursor. */
  positionOf(filter: HoldFilter, cursor: HoldCursor, actor: Actor): Promise<number>;
}

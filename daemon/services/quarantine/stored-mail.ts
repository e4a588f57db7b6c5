// Held mail in the form in which it is stored, and the steps of its life.
import type {ActedState, HeldMailDetail} from '../../../shared/held-mail.ts';
import type {Reason} from '../../../shared/reason.ts';

/**
 * held → releasing → released; held → discarding → discarded or expired, in one step from held where nothing has to be done before.
 * held → lost → held when bytes of the spool go, and come, without our doing; held → gone when a mail has left Postfix's hold queue so.
 */
export type HeldState = 'held' | 'releasing' | 'discarding' | 'released' | 'discarded' | 'expired' | 'lost' | 'gone';
export const heldStates: readonly string[] = [
  'held',
  'releasing',
  'discarding',
  'released',
  'discarded',
  'expired',
  'lost',
  'gone',
] satisfies HeldState[];

/** Who has the bytes: this node's spool, or the hold queue of its Postfix. */
export type HoldBackendName = 'spool' | 'postfix';

export interface StoredHeldMail extends Omit<HeldMailDetail, 'node_id' | 'symbols'> {
  state: HeldState;
  domain_id: number;
  is_utf8: boolean;
  is_eight_bit: boolean;
  keeper: HoldBackendName;
  /** Seconds since 1970 at which Postfix made its queue file; null in the spool, and until Postfix was asked. */
  queued_at: number | null;
  /** Of the bytes in the spool, else empty. */
  sha256: string;
  acted_at: string | null;
  acted_by_key_id: number | null;
}

export type NewHeldMail = Omit<StoredHeldMail, 'state' | 'acted_at' | 'acted_by_key_id'>;

/** In our keeping, and in the list. */
export const isHeld = ({state}: Pick<StoredHeldMail, 'state'>): boolean =>
  state === 'held' || state === 'releasing' || state === 'discarding';

export interface Claim {
  state: ClaimedState;
  keyId: number | null;
}

export type ClaimedState = 'releasing' | 'discarding';
export const claimedStates: ClaimedState[] = ['releasing', 'discarding'];

export interface Ending {
  state: ActedState | 'expired' | 'lost' | 'gone';
  at: string;
  keyId: number | null;
}

/** The only symbol of what Postfix's rules, or somebody by hand, put on hold: nobody here has given it a score. */
export const unjudged = 'POSTFIX_HOLD';
export const unjudgedSymbols = [{name: unjudged, score: 0}];

export interface HeldCount {
  domain_id: number;
  domain: string;
  reason: Reason;
  count: number;
  size_bytes: number;
}

export interface SpoolOverview {
  /** Rows that contradict themselves, as none does that was written so. */
  odd: string[];
  /** How many of the others are of mails whose bytes are in the spool. */
  held: number;
}

export interface PostfixMail {
  queue_id: string;
  state: HeldState;
  queued_at: number | null;
  acted_at: string | null;
  /** Who has begun to act on it, or has acted. */
  acted_by_key_id: number | null;
}

export interface Confirmation {
  queueId: string;
  queuedAt: number;
  sizeBytes: number;
}

export interface Description {
  subject: string;
  client_ip: string;
  helo: string;
}

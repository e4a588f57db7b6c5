// Port to what a node knows of digests: which of its held mail is listed for whom, and which node sends digests about it. None of it
// replicates.
import type {HeldMail} from '../../../shared/held-mail.ts';

/** How long a sender that says nothing has a round; then another node may take it. */
export const roundMs = 60_000;
/** A round that is due so much later was begun by a clock that was wrong. */
export const aheadMs = 5 * 60_000;

/** The digests of a domain that are due at one moment. */
export interface DigestRound {
  domain_id: number;
  /** When it is due, ISO 8601. */
  due_at: string;
}

export interface UnlistedMail extends Pick<HeldMail, 'sender' | 'from' | 'recipients'> {
  queue_id: string;
  arrived_at: string;
}

/** A held mail in the digest of one of its recipients. */
export interface DigestEntry {
  queue_id: string;
  /** The recipient as the mail has it. */
  address: string;
  /** Whose digest has it, see `mailboxOf`. */
  mailbox: string;
}

/**
 * waiting → sent; → resent: it may have been sent before; → later: the digest of this round was full or refused, or the settings leave the
 * mail out now; the next round makes it waiting again.
 */
type EntryState = 'waiting' | 'later' | 'sent' | 'resent';

/** An entry that waits, with its mail; `mail` is null when it is not held for the recipient any more. */
export interface WaitingEntry extends DigestEntry {
  /** The digest that may have been delivered with it: the sender ended before he said so. Null when there is none. */
  digest_id: string | null;
  mail: WaitingMail | null;
  /** How many entries wait for the mailbox. */
  waiting_count: number;
}

/** `is_for_recipients`: see `isForRecipients`. */
export interface WaitingMail extends Pick<HeldMail, 'sender' | 'from' | 'subject' | 'reason' | 'arrived_at'> {
  is_for_recipients: boolean;
}

interface UnlistedChoice {
  reasons: readonly string[];
  /** Arrived at this time or later, ISO 8601. */
  since: string;
  /** The mail before, in the order of arrival. */
  after: Pick<UnlistedMail, 'arrived_at' | 'queue_id'> | undefined;
  limit: number;
  /** Only mail with this text in its recipients, in lower case; ASCII. */
  recipientText?: string;
}

/** `over`: all of its digests were sent. `elsewhere`: another node sends digests of the domain now. */
export type RoundState = 'taken' | 'elsewhere' | 'over';

export interface RoundHolder {
  holder: string;
  /** Milliseconds since 1970. Another node may take the round `heldMs` later. */
  now: number;
  heldMs: number;
  /** Only if no other node has had the round since this one. */
  isKept?: boolean;
}

/** What became of a digest. `unsent`: it was surely not delivered; `later`: nor when it was sent again; `apart`: what is in it here goes into another one. */
export interface Settlement {
  mailbox: string;
  digest_id: string;
  state: 'sent' | 'resent' | 'later' | 'unsent' | 'apart';
}

/** The link that a recipient got for a held mail. */
export interface RecipientLink {
  /** SHA-256 of its token, hex. */
  hash: string;
  queue_id: string;
  address: string;
  made_at: string;
  /** The digest that has it. */
  digest_id: string;
  /** The node of the mail, in a store that all nodes share. */
  node_id?: string;
}

/** What is known of a mail's digests, for another store. */
export interface MailDigests {
  entries: (DigestEntry & {domain_id: number; state: EntryState; digest_id: string | null})[];
  links: RecipientLink[];
}

export interface DigestReads {
  /** In a store that all nodes share, that of any node. */
  link(hash: string): Promise<RecipientLink | undefined>;
  ofMails(queueIds: readonly string[]): Promise<MailDigests>;
  /** Inbound mail that is held, arrived before the round was due, and is in no digest. The earliest first. */
  unlisted(round: DigestRound, choice: UnlistedChoice): Promise<UnlistedMail[]>;
  /** Mailboxes with entries that wait, behind `after`, in the order of their bytes as UTF-8. */
  waiting(domainId: number, choice: {after: string; limit: number}): Promise<string[]>;
  /** What waits for each mailbox: at most `limit` entries, the earliest mail first. */
  waitingFor(domainId: number, mailboxes: readonly string[], limit: number): Promise<WaitingEntry[]>;
  /** Which of these digests were sent again. */
  resentAmong(domainId: number, digestIds: readonly string[]): Promise<string[]>;
}

export interface DigestStore extends DigestReads {
  /**
   * Makes `holder` the one who sends digests of the domain, or says why not. The one who does keeps that for longer. In a new round, what was
   * left for later waits. A later round that is not over is gone on with.
   */
  take(round: DigestRound, holder: RoundHolder): Promise<RoundState>;
  close(round: DigestRound): Promise<void>;
  /** Entries that are there already stay as they are. */
  add(domainId: number, entries: readonly DigestEntry[]): Promise<void>;
  /** The mail may be listed again. */
  drop(entries: readonly DigestEntry[]): Promise<void>;
  /** They are for the next round. */
  postpone(entries: readonly DigestEntry[]): Promise<void>;
  /** Drops what waits for these mailboxes and is not held any more. */
  dropEnded(domainId: number, mailboxes: readonly string[]): Promise<void>;
  /** The digest that these entries are in from now on. */
  putInto(digests: readonly (DigestEntry & {digest_id: string})[]): Promise<void>;
  /** `served`: what else waits for these mailboxes is for later. */
  settle(domainId: number, settlements: readonly Settlement[], served: readonly string[]): Promise<void>;
  addLinks(links: readonly RecipientLink[]): Promise<void>;
  /** What is there already stays as it is. */
  restore(digests: MailDigests): Promise<void>;
}

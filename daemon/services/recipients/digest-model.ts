// What the parts of digests say to each other: the source of a node, the node that sends, and the way to the backends.
import type {DigestSettings} from '../../../shared/digest.ts';
import type {DigestAction} from '../../../shared/digest-rules.ts';
import type {Domain} from '../../../shared/domain.ts';
import type {HeldMail} from '../../../shared/held-mail.ts';
import type {DigestRound, RoundState, Settlement} from './digest-store.ts';

/** So many mails of a node are in one digest; the next one has the rest. */
export const mailsOfNode = 100;
/** The most that a node is asked for at once. */
export const mailboxesAtOnce = 100;

/** A mail in a digest. Its texts are as they are shown. */
export interface DigestMail extends Pick<HeldMail, 'sender' | 'from' | 'subject' | 'reason' | 'arrived_at'> {
  mailbox: string;
  /** The recipient as the mail has it. */
  address: string;
  action: DigestAction;
  token: string;
  /** Mails of different nodes with one id belong into one digest. */
  digest_id: string;
  /** How many other mails the node has for the mailbox, which the next digest lists. */
  others: number;
}

/** A digest for one mailbox. */
export interface Digest {
  mailbox: string;
  /** In any order; one at least, unless it is a preview. */
  mails: readonly DigestMail[];
  /** How many more there are, which the next one lists. */
  others: number;
  due_at: string;
  /** A part of its Message-ID; the same for each copy. */
  id: string;
}

export interface AskedDigest {
  mailbox: string;
  /** The id for what is in no digest yet. */
  id: string;
}

export interface Settled {
  settlements: readonly Settlement[];
  served: readonly string[];
}

interface MailboxChoice {
  /** The mailbox before; empty for the first. */
  after: string;
  limit: number;
}

/** A node's part in the digests of a round, for the node that sends them. */
export interface DigestSource {
  readonly nodeId: string;
  /** Gives the round to `sender`, and lists what is in no digest yet; `listing`: ask again, there is more. */
  open(round: DigestRound, sender: string): Promise<RoundState | 'listing'>;
  /** Keeps the round for `sender`, if no other node has had it since. */
  keep(round: DigestRound, sender: string): Promise<RoundState>;
  /** The next mailboxes for which something waits, in the order of their bytes. */
  waiting(round: DigestRound, choice: MailboxChoice): Promise<string[]>;
  /**
   * What is to be in digests, with a new link for each mail. From now on it may have been delivered, until it is settled. This and the
   * following throw a Fault `conflict` when another node has the round.
   */
  digests(round: DigestRound, asked: readonly AskedDigest[], sender: string): Promise<DigestMail[]>;
  /** `served`: what else waits for these mailboxes is for the next round. */
  settle(round: DigestRound, settled: Settled, sender: string): Promise<void>;
  /** Which of these digests were sent again. */
  resentAmong(round: DigestRound, ids: readonly string[]): Promise<string[]>;
  close(round: DigestRound, sender: string): Promise<void>;
  /** What would be in a digest for the mailbox that is due now; its tokens open nothing. */
  preview(round: DigestRound, mailbox: string): Promise<DigestMail[]>;
}

/** `hasServer`: a server answered. Where none does, there is no use in trying the next mailbox. */
export type DigestResult = (
  | {state: 'sent'; detail: string}
  | {state: 'refused'; detail: string}
  | {state: 'waiting'; detail: string; hasServer: boolean}
  /** It may have been delivered. */
  | {state: 'unknown'; detail: string}
) & {
  /** The answer to the digest with texts of mails, where that to the one without is the result. */
  bareFor?: string;
};

export interface DigestTransport {
  send(domain: Domain, settings: DigestSettings, digest: Digest): Promise<DigestResult>;
}

/** What became of the digests of a domain that were due last. */
export interface RoundReport {
  sent: number;
  refused: number;
  /** The answer for the last mailbox that did not get its digest, and is tried again; undefined without any. */
  failure: string | undefined;
  /** That for the last one whose backend refused it. The next digest lists the same again. */
  refusal: string | undefined;
  /** How many were refused with texts of mails, and tried without them, and the last answer for which. */
  bare: number;
  bareFor: string | undefined;
  /** Some are tried again. */
  isWaiting: boolean;
}

/** What later passes over the same round go on with. */
export interface RoundMemory {
  /** Mailboxes whose backend took their digest, or refused it. What a node that was away then has for them is for the next round. */
  served: Set<string>;
  /** How often a node took so long to list its mail that it was waited for. */
  slow: number;
  /** Where to begin; empty for the first mailbox. */
  after: string;
  /** What nodes could not be told yet, of this round and of those before. */
  unsettled: Map<string, readonly Settlement[]>;
}

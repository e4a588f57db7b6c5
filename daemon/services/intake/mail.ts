// Mail in transit through this node, as the services see it, without sockets and files.

import {randomInt} from 'node:crypto';
import type {Readable} from 'node:stream';
import {toBase62} from '../../../shared/api-key-value.ts';
import type {Domain} from '../../../shared/domain.ts';
import type {SymbolScore, Training, TrainingClass} from '../../../shared/held-mail.ts';
import type {HostPort} from '../../../shared/host-port.ts';
import type {MailAuthentication} from '../../../shared/mail-authentication.ts';
import type {Reason} from '../../../shared/reason.ts';
import type {DmarcOutcome} from './dmarc-outcome.ts';

/** The sending SMTP client. `isTrusted`: its address is in `smtp.trusted_networks`. */
export interface Client {
  ip: string;
  /** Host name from DNS that resolves back to the address; null when there is none. */
  hostname: string | null;
  helo: string;
  isTrusted: boolean;
  /** The authenticated user (RFC 4954); null for a client that has not logged in. */
  user: string | null;
  /** For the Received header (RFC 3848): SMTP, ESMTP, ESMTPS, UTF8SMTPS… */
  protocol: string;
}

export interface Envelope {
  /** Empty for a bounce. */
  sender: string;
  recipients: string[];
  /** The client asked for SMTPUTF8 (RFC 6531). */
  isUtf8: boolean;
  /** The client declared BODY=8BITMIME (RFC 6152). */
  isEightBit: boolean;
}

/** The bytes of a mail, in memory or in a file. They can be read any number of times until discarded. */
export interface MailContent {
  readonly sizeBytes: number;
  open(): Readable;
  /** Frees the memory or file. A second call does nothing. */
  discard(): Promise<void>;
}

/** A body as a stream, which the caller must read once or destroy. */
export interface MailBody {
  sizeBytes: number;
  stream: Readable;
}

/** One header field as received. `value` is still folded and encoded, with one character per byte (latin1). */
export interface HeaderField {
  name: string;
  value: string;
}

/** A field with the offsets of its first byte and of the byte after its line end. */
export interface PlacedField extends HeaderField {
  from: number;
  to: number;
}

export interface ReceivedMail {
  queueId: string;
  receivedAt: Date;
  client: Client;
  envelope: Envelope;
  /** With their places in the content. */
  headers: PlacedField[];
  /** Lines of the header block that are part of no field. */
  strayLines: string[];
  /** Exactly the bytes received after DATA, dot-unstuffed, without the trace header of this node. */
  content: MailContent;
  /** The mail contains the test string of the built-in scorer (GTUBE). */
  hasTestString: boolean;
}

type MailDirection = 'inbound' | 'outbound';

export interface Score {
  score: number;
  symbols: SymbolScore[];
  /** The reason to record if the mail is held. */
  reason: Reason;
  /** The client should send the mail again later, as with greylisting: the scorer has not decided yet. */
  wantsRetry?: boolean;
}

/** The owner of a mail: the domain of the recipients for inbound mail, of the sender for outbound mail. */
export interface Ownership {
  direction: MailDirection;
  domain: Domain;
  /** Mail to an address at which this node reads DMARC reports: no backend has to know it. */
  isForReports?: boolean;
}

export interface Judgement extends Score {
  /** Undefined for mail of trusted clients and of users, which is not verified. */
  verified?: Verified;
  /**
   * `reject`: because of the score. `block`: because of a filter. `defer`: the scorer wants the mail to be sent again. `undecided`: so does
   * the authentication.
   */
  action: 'relay' | 'hold' | 'reject' | 'block' | 'defer' | 'undecided';
}

/** The metadata of a held mail, stored in a file beside its bytes and in its row. */
export interface HeldMailFacts {
  queue_id: string;
  arrived_at: string;
  direction: MailDirection;
  domain: string;
  domain_id: number;
  sender: string;
  recipients: string[];
  is_utf8: boolean;
  is_eight_bit: boolean;
  /** Addresses in the header From. Files of earlier versions do not have it. */
  from: string[] | null;
  subject: string;
  score: number;
  symbols: SymbolScore[];
  reason: Reason;
  client_ip: string;
  helo: string;
  authentication: MailAuthentication | null;
}

/** Scores mail. Rejects with a Fault `unavailable` when it cannot. */
export interface Scorer {
  score(mail: ReceivedMail): Promise<Score>;
  /** Whether the scanner is there, without a mail. Rejects with a Fault `unavailable` when it is not; absent where nothing can fail. */
  check?(): Promise<void>;
}

export interface Verified {
  results: MailAuthentication;
  dmarc: DmarcOutcome;
  /**
   * Who the reader of the mail sees as its author. `clear`: one domain, or none that can have a policy. `unclear`: mail programs may differ.
   */
  authorship: 'clear' | 'several' | 'unclear';
}

/** Verifies who a mail comes from. Rejects when it cannot: the mail has to come again. */
export interface MailVerifier {
  verify(mail: ReceivedMail): Promise<Verified>;
}

interface TrainingSample {
  queueId: string;
  sender: string;
  recipients: readonly string[];
  content: MailContent;
}

/** `known`: the classifier does not need the mail. `refused`: it answered, but did not learn the mail. */
export type TrainingResult =
  | {kind: 'learned'}
  | {kind: 'known'; why: Exclude<Training, 'learned'>}
  | {kind: 'refused' | 'unreachable'; detail: string};

/** Learns ham and spam from mail. Never rejects; resolves within 5 s. */
export interface Classifier {
  train(sampleClass: TrainingClass, mail: TrainingSample): Promise<TrainingResult>;
}

/** Trains the classifier with held mail. Takes at most 5 s, plus the time to read the mail. */
export interface Trainer {
  /**
   * After a release or a discard, where that trains. Never rejects; calls `read` only when there is a classifier to train, and leaves out what
   * that resolves with undefined for.
   */
  train(...sample: UnreadSample<MailBody | undefined>): Promise<void>;
  /** Because a caller wants just that. Rejects with a Fault when nothing could be learned, and when `read` does. */
  trainAsAsked(...sample: UnreadSample<MailBody>): Promise<Training>;
}

type UnreadSample<Body> = [sampleClass: TrainingClass, mail: Omit<TrainingSample, 'content'>, read: () => Promise<Body>];

/** A reply of an SMTP server. `text` includes the enhanced status code; lines are joined by a space. */
export interface SmtpReply {
  code: number;
  text: string;
  /** HOST:PORT of the server that said it; undefined for a reply of this node. */
  server?: string;
}

/** The same reply for relayed and held mail: senders must not learn that a mail is in quarantine. */
export const queuedAs = (queueId: string): SmtpReply => ({code: 250, text: `2.0.0 Ok: queued as ${queueId}`});

export const replyText = ({code, text}: SmtpReply): string => `${code} ${text}`;

/** The result for one recipient: delivered, refused permanently (5xx), or deferred for another attempt (4xx, no server reached). */
export interface RecipientResult {
  recipient: string;
  outcome: 'delivered' | 'refused' | 'deferred';
  reply: SmtpReply;
  /** Whether the reply is that to the content; the recipient was accepted. */
  isOfContent: boolean;
}

/** The servers for a mail, tried in order until one connects. `signFor`: the domain for the DKIM signature of outbound mail. */
export interface Route {
  servers: HostPort[];
  /** Login, used over verified TLS only. `ca` (PEM) replaces the certificate authorities of the system. */
  auth?: {username: string; password: string; ca?: string};
  signFor?: Domain;
}

/** Delivers one mail over one route. Resolves with one result per recipient; never rejects because of a server's reply or silence. */
export interface Deliver {
  deliver(route: Route, envelope: Envelope, content: MailContent): Promise<RecipientResult[]>;
}

/** Holds a suspicious mail. File and row are on stable storage when it resolves. */
export interface MailHolder {
  hold(mail: ReceivedMail, ownership: Ownership, judgement: Judgement): Promise<void>;
}

/**
 * Creates queue ids in base62: 8 characters of arrival time, 3 of the node number, 6 random ones. They sort by time, two nodes never
 * create the same one, and none is created twice.
 */
export const createQueueIds = (nodeNo: number, now: () => number): (() => string) => {
  return () => toBase62(now(), 8) + toBase62(nodeNo, 3) + toBase62(randomInt(62 ** 6), 6);
};

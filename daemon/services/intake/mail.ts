// Mail in transit through this node, as the services see it, without sockets and files.
import type {Readable} from 'node:stream';
import type {Domain} from '../../../shared/domain.ts';
import type {SymbolScore} from '../../../shared/held-mail.ts';
import type {Reason} from '../../../shared/reason.ts';

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

/** One header field as received. `value` is still folded and encoded, with one character per byte (latin1). */
export interface HeaderField {
  name: string;
  value: string;
}

export interface ReceivedMail {
  queueId: string;
  receivedAt: Date;
  client: Client;
  envelope: Envelope;
  headers: HeaderField[];
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
}

export interface Judgement extends Score {
  /** `reject`: because of the score. `block`: because of a filter. `defer`: the scorer wants the mail to be sent again. */
  action: 'relay' | 'hold' | 'reject' | 'block' | 'defer';
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
  subject: string;
  score: number;
  symbols: SymbolScore[];
  reason: Reason;
  client_ip: string;
  helo: string;
}

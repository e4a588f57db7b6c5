// A mail on its way through this node, as the services see it: no sockets, no files.
import type {Readable} from 'node:stream';
import type {Domain} from '../../../shared/domain.ts';
import type {SymbolScore} from '../../../shared/held-mail.ts';
import type {Reason} from '../../../shared/reason.ts';

/** Who is sending. `isTrusted`: the address lies in `smtp.trusted_networks`. */
export interface Client {
  ip: string;
  /** Name from DNS that leads back to the address; null when there is none. */
  hostname: string | null;
  helo: string;
  isTrusted: boolean;
  /** Who it has proved to be (RFC 4954); null for a client that has not logged in. */
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

/** The bytes of a mail, in memory or in a file; may be read any number of times until discarded. */
export interface MailContent {
  readonly sizeBytes: number;
  open(): Readable;
  /** Frees what holds the bytes. Doing it twice is harmless. */
  discard(): Promise<void>;
}

/** One header field as received: `value` still folded and encoded, one character per byte (latin1). */
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
  /** Exactly the bytes that came after DATA, dot-unstuffed, without our own trace header. */
  content: MailContent;
  /** The built-in scorer's test string (GTUBE) was seen while the bytes came in. */
  hasTestString: boolean;
}

type MailDirection = 'inbound' | 'outbound';

export interface Score {
  score: number;
  symbols: SymbolScore[];
  /** Why the mail would be held, should it be. */
  reason: Reason;
  /** The mail is to come again later, as greylisting asks: the scorer has not made up its mind. */
  wantsRetry?: boolean;
}

/** Whom a mail belongs to: the recipients' domain for inbound, the sender's for outbound. */
export interface Ownership {
  direction: MailDirection;
  domain: Domain;
}

export interface Judgement extends Score {
  /** `reject` for its score, `block` for a filter, `defer` for a scorer that wants it to come again. */
  action: 'relay' | 'hold' | 'reject' | 'block' | 'defer';
}

/** What a held mail is, on disk beside its bytes and in its row. */
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

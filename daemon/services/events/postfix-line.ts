// What the log of Postfix says of a mail, in the words of the event log.
import type {MailEventName} from '../../../shared/mail-event-name.ts';

interface LineFacts {
  /** Of Postfix. */
  queueId: string;
  /** Milliseconds since 1970. */
  at: number;
}

/** An attempt to deliver to one recipient. */
export interface DeliveryLine extends LineFacts {
  kind: 'delivery';
  event: Extract<MailEventName, 'sent' | 'bounced' | 'postponed'>;
  to: string;
  /** The recipient before aliases; undefined where it is the same. */
  originalTo: string | undefined;
  /** The server that answered and its words; null where none did. */
  server: string | null;
  reply: string | null;
  /** What else Postfix says, such as why no server answered. */
  detail: string;
  tookMs: number | null;
  /** If an address of the mail has a `>` in it, the line may say something else than it seems to. */
  isAmbiguous: boolean;
}

export type PostfixLine =
  | DeliveryLine
  /** Postfix has given up all recipients that are left. */
  | (LineFacts & {kind: 'expired'})
  /** `postsuper -r`: the mail goes on under another queue id. */
  | (LineFacts & {kind: 'requeued'; formerId: string});

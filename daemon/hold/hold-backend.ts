// Hold backend: the store of the bytes of held mail, either this node's spool or the hold queue of its Postfix.

import type {MailBody} from '../services/intake/mail.ts';
import type {Delivered, StoredHeldMail} from '../services/quarantine/stored-mail.ts';

export interface HoldBackend {
  /** Whether `body` can be read until `forget` is called; otherwise only until `release` or `discard`. */
  isReadableToTheEnd: boolean;
  /**
   * Sends the mail out: the spool delivers it, Postfix takes it out of its hold queue. Resolves with what the server said that took it;
   * undefined where Postfix will ask it later. Rejects when the mail is still held, after
   * calling `onServed` with the recipients who received it nevertheless.
   */
  release(mail: StoredHeldMail, onServed: (recipients: string[]) => void): Promise<Delivered | undefined>;
  /** Required before a mail is discarded or expires; absent if the backend needs no such step. */
  discard?(mail: StoredHeldMail): Promise<void>;
  /** Removes what remains after the mail has ended; calling it twice is harmless. */
  forget(queueId: string): Promise<void>;
  body(mail: StoredHeldMail): Promise<MailBody>;
}

/** The mail is not in the queue any more: someone released or removed it by hand. */
export class LeftQueue extends Error {
  override name = 'LeftQueue';
}

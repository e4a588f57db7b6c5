// Who has the bytes of held mails, as seen by what may happen to them: this node's spool, or the hold queue of its Postfix.

import type {MailBody} from '../services/ports.ts';
import type {StoredHeldMail} from '../services/quarantine/stored-mail.ts';

export interface HoldBackend {
  /** Whether `body` can be read until `forget` is called; else only until `release` or `discard` is. */
  isReadableToTheEnd: boolean;
  /**
   * Sees to it that the mail goes out: the spool delivers it, Postfix takes it over. Rejects when it is still held, having told
   * `onServed` which recipients have had it all the same.
   */
  release(mail: StoredHeldMail, onServed: (recipients: string[]) => void): Promise<void>;
  /** What has to be done before the life of a mail may end in any other way; absent where nothing has. */
  discard?(mail: StoredHeldMail): Promise<void>;
  /** Frees what is left when its life has ended; doing it twice is harmless. */
  forget(queueId: string): Promise<void>;
  body(mail: StoredHeldMail): Promise<MailBody>;
}

/** The mail is not there any more: somebody released or removed it by hand. */
export class LeftQueue extends Error {
  override name = 'LeftQueue';
}

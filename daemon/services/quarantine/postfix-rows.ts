// Port to the rows of mails whose bytes are in the hold queue of Postfix.
import type {Confirmation, Description, PostfixMail} from './stored-mail.ts';

export interface PostfixRowReads {
  /** All held mails, according to the rows. */
  list(): Promise<PostfixMail[]>;
  /** Rows with these ids of mails that are or were in Postfix, in any state. */
  find(queueIds: readonly string[]): Promise<PostfixMail[]>;
  /** Held mails that mfd has not scored and whose subject is unknown. */
  listWithoutSubject(): Promise<string[]>;
}

/** Rows of mails whose bytes are in the hold queue of Postfix. */
export interface PostfixRows extends PostfixRowReads {
  /** Stores when Postfix queued held mails and their size there, which the milter does not know. */
  confirm(confirmations: readonly Confirmation[]): Promise<void>;
  /** Stores details read from a mail that mfd has not scored. */
  describe(queueId: string, description: Description): Promise<void>;
}

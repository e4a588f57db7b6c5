// What the doors for mail ask of the services while a mail comes in.

import type {Domain} from '../../shared/domain.ts';
import type {Intake} from '../services/intake/intake.ts';
import type {MailContent, Ownership, ReceivedMail} from '../services/intake/mail.ts';
import type {RecipientResult} from '../services/intake/mail-ports.ts';

/** `refused`: for its form or size, or by the backend. `rejected`: for its score. `deferred`: the sender was told to try again. */
export type Verdict = 'relayed' | 'held' | 'rejected' | 'refused' | 'deferred';

/** `hold` rejects with the error of the disk or the database when it cannot keep the mail. Addresses given are canonical. */
export interface IntakePort extends Pick<Intake, 'claim' | 'routing' | 'canTakeMail' | 'judge' | 'hold'> {
  /** What goes before the content when it is relayed: the Received field, a DKIM signature when outbound. */
  relayPrefix(mail: ReceivedMail, ownership: Ownership): Promise<Buffer>;
  /** Told once for every mail that came as far as DATA. */
  recordVerdict(verdict: Verdict): void;
  /** Told what came of every mail that was to be relayed. */
  recordRelay(outcome: RecipientResult['outcome']): void;
}

/** The same for the milter, whose mail Postfix keeps and delivers. */
export interface MilterIntake extends Pick<Intake, 'claim' | 'canTakeMail' | 'judge' | 'hold'> {
  /** The DKIM-Signature fields for outbound mail, each with its line end; empty without a key. Rejects when a key does not sign. */
  sign(domain: Domain, content: MailContent): Promise<Buffer>;
  /** Told once for every mail that was taken in whole and is of a domain of ours. */
  recordVerdict(verdict: Verdict): void;
}

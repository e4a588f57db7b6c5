// Port of the mail listeners (SMTP gateway, milter) to the services.

import type {Domain} from '../../shared/domain.ts';
import type {Intake} from '../services/intake/intake.ts';
import type {MailContent, Ownership, ReceivedMail} from '../services/intake/mail.ts';
import type {RecipientResult} from '../services/intake/mail-ports.ts';

/** `refused`: because of form or size, or by the backend. `rejected`: because of the score. `deferred`: the sender has to retry. */
export type Verdict = 'relayed' | 'held' | 'rejected' | 'refused' | 'deferred';

/** `hold` rejects with the error of the disk or the database when it cannot store the mail. All addresses are canonical. */
export interface IntakePort extends Pick<Intake, 'claim' | 'routing' | 'canTakeMail' | 'judge' | 'hold'> {
  /** Header fields before the relayed content: the Received field, and for outbound mail a DKIM signature. */
  relayPrefix(mail: ReceivedMail, ownership: Ownership): Promise<Buffer>;
  /** Called once for every mail that reached DATA. */
  recordVerdict(verdict: Verdict): void;
  /** Called with the outcome of every relay. */
  recordRelay(outcome: RecipientResult['outcome']): void;
}

/** Port of the milter, whose mail Postfix keeps and delivers. */
export interface MilterIntake extends Pick<Intake, 'claim' | 'canTakeMail' | 'judge' | 'hold'> {
  /** The DKIM-Signature fields for outbound mail, each with its line end; empty without a key. Rejects when signing fails. */
  sign(domain: Domain, content: MailContent): Promise<Buffer>;
  /** Called once for every complete mail of a domain of ours. */
  recordVerdict(verdict: Verdict): void;
}

// Decision about a complete mail.

import {Fault} from '../../shared/fault.ts';
import type {Judgement, Ownership, ReceivedMail} from '../services/intake/mail.ts';
import type {SmtpReply} from '../services/intake/mail-ports.ts';
import type {IntakePort, Verdict} from './intake-port.ts';
import {replyToStorageError} from './message-intake.ts';
import {isPermanent, replies} from './smtp-reply.ts';

/** The reply to the client, and the facts for the log. */
export interface Decision {
  verdict: Verdict;
  reply: SmtpReply;
  judgement?: Judgement;
  /** The internal error that prevented a decision. */
  cause?: unknown;
}

export interface DecisionContext {
  ownership: Ownership;
  /** Whether the client is gone or no longer waits for an answer. */
  isAbandoned(): boolean;
  /** Relays a mail in the way of the listener that received it. */
  relay(judgement: Judgement): Promise<Decision>;
}

/** Judges a mail and rejects, holds or relays it. A positive reply means that it is held durably, or relayed. */
export const decide = async (
  intake: Pick<IntakePort, 'judge' | 'hold'>,
  mail: ReceivedMail,
  {ownership, isAbandoned, relay}: DecisionContext,
): Promise<Decision> => {
  let judgement: Judgement;
  try {
    judgement = await intake.judge(mail, ownership);
  } catch (cause) {
    const isScorerDown = cause instanceof Fault && cause.code === 'unavailable';
    return {verdict: 'deferred', reply: isScorerDown ? replies.notJudged : replies.internal, cause};
  }
  // A client that is gone will send the mail again, so accepting this copy would deliver it twice.
  if (isAbandoned()) return {verdict: 'deferred', reply: replies.clientGone, judgement};

  switch (judgement.action) {
    case 'reject':
      return {verdict: 'rejected', reply: replies.spam, judgement};
    case 'block':
      return {verdict: 'rejected', reply: replies.blocked, judgement};
    case 'defer':
      return {verdict: 'deferred', reply: replies.comeAgain, judgement};
    case 'hold':
      return hold(intake, mail, {ownership, judgement});
    case 'relay':
      return {...(await relay(judgement)), judgement};
    default:
      return judgement.action satisfies never;
  }
};

export const verdictOf = (refusal: SmtpReply): Verdict => (isPermanent(refusal) ? 'refused' : 'deferred');

const hold = async (
  intake: Pick<IntakePort, 'hold'>,
  mail: ReceivedMail,
  {ownership, judgement}: {ownership: Ownership; judgement: Judgement},
): Promise<Decision> => {
  try {
    await intake.hold(mail, ownership, judgement);
    return {verdict: 'held', reply: queuedAs(mail.queueId), judgement};
  } catch (cause) {
    return {verdict: 'deferred', reply: replyToStorageError(cause), judgement, cause};
  }
};

/** The same reply for relayed and held mail: senders must not learn that a mail is in quarantine. */
export const queuedAs = (queueId: string): SmtpReply => ({code: 250, text: `2.0.0 Ok: queued as ${queueId}`});

// What becomes of a mail that has come in whole.
import {Fault} from '../../shared/fault.ts';
import type {Judgement, Ownership, ReceivedMail} from '../services/mail.ts';
import type {SmtpReply} from '../services/ports.ts';
import type {BackendTransaction} from './backend-transaction.ts';
import type {IntakePort, Verdict} from './intake-port.ts';
import {replyToStorageError} from './message-intake.ts';
import {isPermanent, isPositive, outcomeOf, passedOn, replies} from './smtp-reply.ts';

/** What is said to the client, and what is written down. */
export interface Decision {
  verdict: Verdict;
  reply: SmtpReply;
  judgement?: Judgement;
  /** The error of ours that was in the way. */
  cause?: unknown;
}

export interface Delivery {
  ownership: Ownership;
  backend: BackendTransaction;
}

/** Judges a mail and rejects, holds or relays it. A positive reply means that it is held durably or the backend's. */
export const decide = async (
  intake: IntakePort,
  mail: ReceivedMail,
  {ownership, backend, isAbandoned}: Delivery & {isAbandoned(): boolean},
): Promise<Decision> => {
  let judgement: Judgement;
  try {
    judgement = await intake.judge(mail, ownership);
  } catch (cause) {
    const isScorerDown = cause instanceof Fault && cause.code === 'unavailable';
    return {verdict: 'deferred', reply: isScorerDown ? replies.notJudged : replies.internal, cause};
  }
  // A client that is gone will send the mail again: taking this one too would double it knowingly.
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
      return {...(await relay(intake, mail, {ownership, backend})), judgement};
    default:
      return judgement.action satisfies never;
  }
};

export const verdictOf = (refusal: SmtpReply): Verdict => (isPermanent(refusal) ? 'refused' : 'deferred');

const hold = async (
  intake: IntakePort,
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

const relay = async (intake: IntakePort, mail: ReceivedMail, {ownership, backend}: Delivery): Promise<Decision> => {
  const prefix = await intake.relayPrefix(mail, ownership);
  const reply = await backend.data(mail.content, prefix);
  intake.recordRelay(outcomeOf(reply));
  if (isPositive(reply)) return {verdict: 'relayed', reply: queuedAs(mail.queueId)};

  const passed = passedOn(reply);
  return {verdict: verdictOf(passed), reply: passed};
};

/** The same for relayed and held mail: a stranger is not told that a mail is in quarantine. */
const queuedAs = (queueId: string): SmtpReply => ({code: 250, text: `2.0.0 Ok: queued as ${queueId}`});

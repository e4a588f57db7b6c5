// Answer of the milter to the end of a mail.
import {Fault} from '../../../shared/fault.ts';
import {queueIdPattern} from '../../../shared/fields.ts';
import {type Judgement, type Ownership, queuedAs, type ReceivedMail} from '../../services/intake/mail.ts';
import {conclude, type Decision, decide, type IntakePort, type MailLog, noQueueId, verdictOf} from '../mail-decision.ts';
import type {Taken} from '../message-intake.ts';
import {isPositive, replies} from '../smtp-reply.ts';
import type {MilterReply} from './milter-codec.ts';
import {addScore, insertBelowTrace, insertInFront, type JudgedMail, removeClaims} from './milter-mail.ts';

export interface VerdictNeeds {
  intake: IntakePort;
  log: MailLog;
}

/**
 * Judges the mail, records held mail in the index, and logs the verdict. Never rejects. The caller has to discard the content.
 */
export const answerMail = async (
  needs: VerdictNeeds,
  {queueId, client, envelope, ownership}: JudgedMail,
  {taken, isAbandoned}: {taken: Taken | undefined; isAbandoned(): boolean},
): Promise<MilterReply[]> => {
  const {intake} = needs;
  const receivedAt = new Date();
  let edits: MilterReply[] = [];

  const judge = async (): Promise<Decision> => {
    if (!taken) return {verdict: 'deferred', reply: replies.clientGone};
    if (taken.kind === 'refused') return {verdict: verdictOf(taken.reply), reply: taken.reply, cause: taken.cause};

    const {kind, ...read} = taken;
    const mail = {queueId: queueId ?? noQueueId, receivedAt, client, envelope, ...read};
    const hold: IntakePort['hold'] = async (held, owner, judgement) => {
      // The queue ID becomes a key in the index and a line of input for `postsuper`.
      if (queueId === undefined || !queueIdPattern.test(queueId)) throw new Fault('unavailable', noQueueIdDetail);
      // Edits come before the hold: released mail leaves exactly as it is in Postfix's queue, so it must be signed now.
      edits = await editsFor(intake, held, {ownership: owner, judgement});
      // The index comes before the answer: if the answer is lost, the row without a mail is found and removed later.
      await intake.hold(held, owner, judgement);
    };
    const relay = async (judgement: Judgement): Promise<Decision> => {
      edits = await editsFor(intake, mail, {ownership, judgement});
      if (edits.length > maxEdits) return {verdict: 'refused', reply: replies.headerTooBig};
      return {verdict: 'relayed', reply: queuedAs(mail.queueId)};
    };
    try {
      return await decide({...intake, hold}, mail, {ownership, isAbandoned, relay});
    } catch (cause) {
      return {verdict: 'deferred', reply: replies.internal, cause};
    }
  };

  const decision = await judge();
  const {sender, recipients} = envelope;
  const received = taken?.kind === 'taken' && {
    received: {headers: taken.headers, content: taken.content, receivedAtMs: receivedAt.getTime()},
  };
  conclude(needs, {queueId, client, sender, recipients, ownership, ...received}, decision);
  return answerOf(decision, edits);
};

const noQueueIdDetail = 'Postfix did not send the queue id of a mail that is to be held; keep i in its milter_end_of_data_macros';

/** The time of Postfix grows with the square of the removed fields: six seconds for 12,000. */
const maxEdits = 1000;

const editsFor = async (
  intake: IntakePort,
  mail: ReceivedMail,
  {ownership: {direction, domain}, judgement}: {ownership: Ownership; judgement: Judgement},
): Promise<MilterReply[]> => {
  const isSigned = direction === 'outbound' && domain.dkim_active;
  const signatures = isSigned ? insertInFront(await intake.sign(domain, mail.content)) : [];
  const results = insertBelowTrace(intake.resultsField(mail, judgement));
  return [...removeClaims(mail.headers, intake.createClaimCheck()), ...addScore(judgement), ...results, ...signatures];
};

const answerOf = ({verdict, reply, judgement}: Decision, edits: MilterReply[]): MilterReply[] => {
  if (!isPositive(reply)) return [{kind: 'reply', ...reply}];
  if (verdict === 'report') return [{kind: 'discard'}];
  const quarantine: MilterReply[] = verdict === 'held' ? [{kind: 'quarantine', reason: judgement?.reason ?? 'spam'}] : [];
  return [...edits, ...quarantine, {kind: 'accept'}];
};

// Decision about a complete mail, the port through which it is made, and its log line.

import type {Domain} from '../../shared/domain.ts';
import {Fault} from '../../shared/fault.ts';
import type {Received} from '../services/dmarc/counted-mail.ts';
import {clientFacts, headerFacts, judgementFacts, unknownMail} from '../services/events/held-event.ts';
import type {NewMailEvent} from '../services/events/mail-event.ts';
import type {Intake} from '../services/intake/intake.ts';
import {
  type Client,
  type HeaderField,
  type Judgement,
  type MailContent,
  type Ownership,
  queuedAs,
  type ReceivedMail,
  type RecipientResult,
  replyText,
  type SmtpReply,
} from '../services/intake/mail.ts';
import {replyToStorageError} from './message-intake.ts';
import {isPermanent, replies} from './smtp-reply.ts';

/** The reply to the client, and the facts for the log. */
export interface Decision {
  verdict: Verdict;
  reply: SmtpReply;
  /** What the server said to whom the mail was relayed, in its own words. */
  answered?: SmtpReply;
  judgement?: Judgement;
  /** The internal error that prevented a decision. */
  cause?: unknown;
  /** Why a mail for reports was held. */
  problem?: string;
}

export interface DecisionContext {
  ownership: Ownership;
  /** Whether the client is gone or no longer waits for an answer. */
  isAbandoned(): boolean;
  /** Relays a mail in the way of the listener that received it. */
  relay(judgement: Judgement): Promise<Decision>;
}

type Deciding = Pick<IntakePort, 'judge' | 'hold' | 'count' | 'takeReport'>;

/** Judges a mail and rejects, holds or relays it. A positive reply means that it is held durably, or relayed. */
export const decide = async (intake: Deciding, mail: ReceivedMail, context: DecisionContext): Promise<Decision> => {
  const decision = await decided(intake, mail, context);
  const {verdict, judgement} = decision;
  // Mail that is deferred comes again, and there are no reports about reports.
  if (judgement && verdict !== 'deferred' && verdict !== 'report')
    intake.count({mail, ownership: context.ownership, judgement, outcome: verdict});
  return decision;
};

const decided = async (
  intake: Deciding,
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
    case 'undecided':
      return {verdict: 'deferred', reply: replies.notAuthenticated, judgement};
    case 'hold':
      return hold(intake, mail, {ownership, judgement});
    case 'relay':
      if (ownership.isForReports) return takeReport(intake, mail, {ownership, judgement});
      return {...(await relay(judgement)), judgement};
    default:
      return judgement.action satisfies never;
  }
};

/** What cannot be read is held, where a person can see it. */
const takeReport = async (
  intake: Deciding,
  mail: ReceivedMail,
  {ownership, judgement}: {ownership: Ownership; judgement: Judgement},
): Promise<Decision> => {
  let problem: string | undefined;
  try {
    problem = await intake.takeReport(mail, judgement);
  } catch (cause) {
    return {verdict: 'deferred', reply: replyToStorageError(cause), judgement, cause};
  }
  if (problem === undefined) return {verdict: 'report', reply: queuedAs(mail.queueId), judgement};
  const symbols = [...judgement.symbols, {name: 'DMARC_REPORT_NOT_READ', score: 0}];
  return {...(await hold(intake, mail, {ownership, judgement: {...judgement, symbols, action: 'hold'}})), problem};
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

/** The part of pino's logger that is used. */
export interface MailLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

export interface MailFacts {
  /** Undefined where Postfix did not say it. */
  queueId: string | undefined;
  client: Client;
  sender: string;
  recipients: readonly string[];
  ownership: Ownership;
  /** Undefined for mail that was not read to its end, or was refused for its form. */
  received?: Pick<ReceivedMail, 'headers' | 'content'> & {receivedAtMs: number};
}

/** Postfix logs this for mail without a queue ID. */
export const noQueueId = 'NOQUEUE';

/** As many as a log line names. */
const maxLoggedRecipients = 20;

/** The longest valid address has 320 octets (RFC 5321 section 4.5.3.1); what a client sends may be longer. */
const maxLoggedLength = 320;

export const loggedText = (text: string): string =>
  text.length > maxLoggedLength ? `${text.slice(0, maxLoggedLength).replace(/\p{Surrogate}$/u, '')}…` : text;

/** The recipients of a mail in the log: the first of them, and how many there are. */
export const recipientFacts = (recipients: readonly string[]) => ({
  recipients: recipients.slice(0, maxLoggedRecipients).map(loggedText),
  recipient_count: recipients.length,
});

/** One line in the log, one count, and one entry of the event log for every finished mail, for all listeners. */
export const conclude = ({log, intake}: {log: MailLog; intake: IntakePort}, facts: MailFacts, decision: Decision): void => {
  logDecision(log, facts, decision);
  intake.recordVerdict(decision.verdict);
  // Held mail has its entry with its row.
  if (decision.verdict !== 'held') intake.recordEvent(decisionEvent(facts, decision));
};

const decisionEvent = (
  {queueId, client, sender, recipients, ownership: {direction, domain}, received}: MailFacts,
  {verdict, reply, answered = reply, judgement, problem}: Decision,
): NewMailEvent => {
  // Each member is named once: V8 needs ten times as long where one of them is written over.
  const {from, subject, message_id} = received ? headerFacts(received.headers) : unknownMail;
  const {score, reason, symbols, authentication} = judgement ? judgementFacts(judgement) : unknownMail;
  return {
    event: verdict,
    at: new Date().toISOString(),
    queue_id: queueId ?? null,
    direction,
    domain: domain.name,
    domain_id: domain.id,
    sender,
    recipients: [...recipients],
    from,
    subject,
    message_id,
    client: clientFacts(client),
    size_bytes: received?.content.sizeBytes ?? null,
    score,
    reason,
    symbols,
    authentication,
    reply: replyText(answered),
    server: answered.server ?? null,
    took_ms: received ? Date.now() - received.receivedAtMs : null,
    key_id: null,
    detail: problem ?? '',
    recipients_left: null,
  };
};

const logDecision = (
  log: MailLog,
  {queueId = noQueueId, client, sender, recipients}: MailFacts,
  {verdict, reply, judgement, cause, problem}: Decision,
): void => {
  const envelope = {sender: loggedText(sender), ...recipientFacts(recipients)};
  const facts = {queue_id: queueId, client_ip: client.ip, ...envelope, verdict};
  const outcome = {
    ...facts,
    reply: `${reply.code} ${reply.text}`,
    ...(judgement && {score: judgement.score}),
    ...(problem !== undefined && {problem}),
  };
  if (cause) log.error({...outcome, err: cause}, 'mail could not be accepted');
  else log.info(outcome, 'mail');
};

/**
 * `refused`: because of form or size, or by the backend. `rejected`: because of the score. `deferred`: the sender has to retry.
 * `report`: a DMARC report that was read.
 */
export const verdicts = ['relayed', 'held', 'report', 'rejected', 'refused', 'deferred'] as const;
export type Verdict = (typeof verdicts)[number];

export interface EnvelopeRefusal {
  client: NonNullable<NewMailEvent['client']>;
  sender: string;
  /** Undefined for mail that was refused at MAIL. */
  recipient: string | undefined;
  reply: SmtpReply;
}

/** What a listener needs: the intake, and what this node does with its mail. All addresses are canonical. */
export interface IntakePort extends Pick<Intake, 'judge' | 'claim' | 'routing' | 'canTakeMail'> {
  /** Rejects with the error of the disk or the database when it cannot store the mail. */
  hold: Intake['hold'];
  /** Counts a mail that has been dealt with, for reports. */
  count(received: Received): void;
  /**
   * Reads the DMARC report in a mail; it is on stable storage when this resolves with undefined. Else it resolves with the reason why
   * the mail cannot be read.
   */
  takeReport(mail: ReceivedMail, judgement: Judgement): Promise<string | undefined>;
  /** For the fields of one mail: whether they claim to be written by this cluster. */
  createClaimCheck(): (field: HeaderField) => boolean;
  /** Takes out of the content what claims to be written by this cluster. */
  withoutClaims(mail: Pick<ReceivedMail, 'content' | 'headers'>): Pick<ReceivedMail, 'content' | 'headers'>;
  /** Header fields before the relayed content: those of the arrival, and for outbound mail a DKIM signature. */
  relayPrefix(mail: ReceivedMail, ownership: Ownership, judgement: Judgement): Promise<Buffer>;
  /** The field with the results of the authentication, with its line end; empty for mail that is not verified. */
  resultsField(mail: ReceivedMail, judgement: Judgement): Buffer;
  /** The DKIM-Signature fields for outbound mail, each with its line end; empty without a key. Rejects when signing fails. */
  sign(domain: Domain, content: MailContent): Promise<Buffer>;
  /** Writes an entry of the event log within half a second. */
  recordEvent(event: NewMailEvent): void;
  /** The same for what was refused before DATA. */
  recordRefusal(refusal: EnvelopeRefusal): void;
  /** Counts a refusal that is not in the event log. */
  leaveOutRefusal(): void;
  /** Called once for every mail that reached DATA, or that came whole to the milter for a domain of ours. */
  recordVerdict(verdict: Verdict): void;
  /** Called with the outcome of every relay. */
  recordRelay(outcome: RecipientResult['outcome']): void;
}

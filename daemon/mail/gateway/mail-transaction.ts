// Transaction of one mail of a client. Each recipient is checked at the backend while the client waits (cut-through), so that an
// unknown user is refused at once and this node never has to send a bounce.
//
// MAIL → rcpt … → data: take → judge → reject | hold | relay → over;   RSET, EHLO, QUIT, a lost client: abort → over

import {crashPoint} from '../../services/crash-point.ts';
import {isSameOwner} from '../../services/intake/intake.ts';
import {
  type Client,
  type Judgement,
  type Ownership,
  queuedAs,
  type ReceivedMail,
  type SmtpReply,
} from '../../services/intake/mail.ts';
import type {EnvelopeStart} from '../backend/backend-connection.ts';
import type {BackendPool} from '../backend/backend-pool.ts';
import type {BackendTransaction} from '../backend/backend-transaction.ts';
import {conclude, type Decision, decide, type IntakePort, type MailFacts, type MailLog, verdictOf} from '../mail-decision.ts';
import type {MessageIntake} from '../message-intake.ts';
import {isPositive, outcomeOf, passedOn, replies} from '../smtp-reply.ts';

export interface MailTransactionNeeds {
  intake: IntakePort;
  pool: BackendPool;
  messages: MessageIntake;
  maxRecipients: number;
  newQueueId(): string;
  log: MailLog;
}

export interface MailTransaction {
  /** The reply that refuses a recipient of a domain of ours, whether or not its SMTP path can be parsed. Uses memory only. */
  refuse(path: string): SmtpReply | undefined;
  /** Whether a recipient was accepted. */
  hasRecipients(): boolean;
  /** A 2xx reply means that the backend has accepted this recipient. */
  rcpt(recipient: string): Promise<SmtpReply>;
  /** Processes the content. Only a 2xx reply means that the backend has taken the mail, or that it is held durably. */
  data(stream: AsyncIterable<Buffer>): Promise<SmtpReply>;
  /** Does not interrupt content on its way to the backend. A second call, or one after the end, has no effect. */
  abort(): void;
}

interface Delivery {
  ownership: Ownership;
  backend: BackendTransaction;
}

export const createMailTransaction = (needs: MailTransactionNeeds, client: Client, start: EnvelopeStart): MailTransaction => {
  const recipients = new Set<string>();
  let delivery: Delivery | undefined;
  let isOver = false;

  const rcpt = async (recipient: string): Promise<SmtpReply> => {
    if (recipients.has(recipient)) return replies.recipientAccepted;
    if (recipients.size >= needs.maxRecipients) return replies.tooManyRecipients;
    const routing = needs.intake.routing(client, start.sender, recipient);
    if (routing.kind === 'refuse') return routing.reply;
    if (delivery && !isSameOwner(delivery.ownership, routing.ownership)) {
      if (recipients.size > 0) return replies.anotherDomain;
      delivery.backend.abort();
      delivery = undefined;
    }
    delivery ??= {ownership: routing.ownership, backend: needs.pool.openTransaction(routing.route, start)};
    const reply = routing.ownership.isForReports ? replies.recipientAccepted : await delivery.backend.rcpt(recipient);
    if (!isPositive(reply)) return passedOn(reply);
    recipients.add(recipient);
    return replies.recipientAccepted;
  };

  const facts = (queueId: string, {ownership}: Delivery): MailFacts => ({
    queueId,
    client,
    sender: start.sender,
    recipients: [...recipients],
    ownership,
  });

  const take = async (queueId: string, stream: AsyncIterable<Buffer>, from: Delivery): Promise<Concluded> => {
    // Rejects only when the stream breaks off.
    const taken = await needs.messages.take(stream, queueId).catch(() => undefined);
    const known = facts(queueId, from);
    if (!taken) return [known, {verdict: 'deferred', reply: replies.clientGone}];
    if (taken.kind === 'refused') return [known, {verdict: verdictOf(taken.reply), reply: taken.reply, cause: taken.cause}];

    const {strayLines, hasTestString} = taken;
    const receivedAt = new Date();
    const envelope = {...start, recipients: [...recipients]};
    const all = {...known, received: {headers: taken.headers, content: taken.content, receivedAtMs: receivedAt.getTime()}};
    try {
      const {content, headers} = needs.intake.withoutClaims(taken);
      const mail = {queueId, receivedAt, client, envelope, headers, strayLines, content, hasTestString};
      const decision = await decide(needs.intake, mail, {
        ownership: from.ownership,
        isAbandoned: () => isOver,
        relay: async judgement => relay(needs.intake, mail, from, judgement),
      });
      return [all, decision];
    } catch (cause) {
      return [all, {verdict: 'deferred', reply: replies.internal, cause}];
    } finally {
      await taken.content.discard();
    }
  };

  const data = async (stream: AsyncIterable<Buffer>): Promise<SmtpReply> => {
    if (!delivery) return replies.internal;
    const concluded = await take(needs.newQueueId(), stream, delivery);
    isOver = true;
    delivery.backend.abort();
    conclude(needs, ...concluded);
    return concluded[1].reply;
  };

  return {
    refuse(path) {
      if (/^<postmaster>$/i.test(path)) return replies.nakedPostmaster;
      const claim = needs.intake.claim(client, start.sender, path);
      return claim.kind === 'refused' ? claim.reply : undefined;
    },
    hasRecipients: () => recipients.size > 0,
    rcpt,
    data,
    abort: () => {
      isOver = true;
      delivery?.backend.abort();
    },
  };
};

type Concluded = [MailFacts, Decision];

const relay = async (
  intake: IntakePort,
  mail: ReceivedMail,
  {ownership, backend}: Delivery,
  judgement: Judgement,
): Promise<Decision> => {
  const prefix = await intake.relayPrefix(mail, ownership, judgement);
  crashPoint('relay.before');
  const reply = await backend.data(mail.content, prefix);
  crashPoint('relay.after');
  intake.recordRelay(outcomeOf(reply));
  if (isPositive(reply)) return {verdict: 'relayed', reply: queuedAs(mail.queueId), answered: reply};

  const passed = passedOn(reply);
  return {verdict: verdictOf(passed), reply: passed, answered: reply};
};

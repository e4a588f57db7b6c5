// Delivery of a released mail to its route.

import type {Domain} from '../../../shared/domain.ts';
import type {Deliver, MailContent, SmtpReply} from '../../services/intake/mail.ts';
import {isPositive, outcomeOf} from '../smtp-reply.ts';
import type {BackendPool} from './backend-pool.ts';

export interface DeliverNeeds {
  pool: BackendPool;
  /** The DKIM-Signature field for this content, with its line end; empty when the domain does not sign. */
  sign?(domain: Domain, content: MailContent): Promise<Buffer>;
}

/** Rejects only when signing rejects. Replies and failures of servers become results. */
export const createDeliver = ({pool, sign}: DeliverNeeds): Deliver => ({
  deliver: async (route, envelope, content) => {
    const prefix = route.signFor && sign ? await sign(route.signFor, content) : Buffer.alloc(0);
    const sizeBytes = prefix.length + content.sizeBytes;
    const {sender, isUtf8, isEightBit} = envelope;
    const transaction = pool.openTransaction(route, {sender, isUtf8, isEightBit, sizeBytes});

    const results = new Map<string, {reply: SmtpReply; isOfContent: boolean}>();
    for (const recipient of new Set(envelope.recipients))
      results.set(recipient, {reply: await transaction.rcpt(recipient), isOfContent: false});
    const accepted = [...results].filter(([, {reply}]) => isPositive(reply));
    if (accepted.length === 0) transaction.abort();
    else {
      const reply = await transaction.data(content, prefix);
      for (const [recipient] of accepted) results.set(recipient, {reply, isOfContent: true});
    }
    return [...results].map(([recipient, result]) => ({recipient, outcome: outcomeOf(result.reply), ...result}));
  },
});

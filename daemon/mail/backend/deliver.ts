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

    const replies = new Map<string, SmtpReply>();
    for (const recipient of new Set(envelope.recipients)) replies.set(recipient, await transaction.rcpt(recipient));
    const accepted = [...replies].filter(([, reply]) => isPositive(reply));
    if (accepted.length === 0) transaction.abort();
    else {
      const final = await transaction.data(content, prefix);
      for (const [recipient] of accepted) replies.set(recipient, final);
    }
    const taken = new Set(accepted.map(([recipient]) => recipient));
    return [...replies].map(([recipient, reply]) => ({
      ...{recipient, reply, outcome: outcomeOf(reply), isOfContent: taken.has(recipient)},
    }));
  },
});

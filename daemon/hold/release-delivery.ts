// Delivery of released mail whose bytes mfd itself stores, with a limit for all releases of this node together.
import {Fault} from '../../shared/fault.ts';
import {crashPoint} from '../services/crash-point.ts';
import {type Deliver, type MailContent, type RecipientResult, type Route, replyText} from '../services/intake/mail.ts';
import type {Delivered, StoredHeldMail} from '../services/quarantine/stored-mail.ts';
import {createSemaphore, startTimeLimit} from '../services/semaphore.ts';

export interface ReleaseDeliveryNeeds {
  deliver: Deliver;
  /** The current route of a released mail; throws a Fault `delivery_failed` if there is none. */
  routeOf(mail: StoredHeldMail): Route;
  maxDeliveries?: number;
  /** How long a release may wait for others before it begins, in milliseconds. */
  patienceMs?: number;
}

/** Resolves with the server's answer once every recipient was served. Otherwise rejects, after calling `onServed` with those who were. */
export type DeliverReleased = (
  mail: StoredHeldMail,
  open: () => Promise<MailContent>,
  onServed: (recipients: string[]) => void,
) => Promise<Delivered>;

/** A bulk release must not take all the connections that a backend allows. */
const usualMaxDeliveries = 16;
/** Leaves time for a delivery before the caller is answered, see `../services/peers/gather.ts`. */
const usualPatienceMs = 6000;

export const createReleaseDelivery = (needs: ReleaseDeliveryNeeds): DeliverReleased => {
  const {deliver, routeOf, maxDeliveries = usualMaxDeliveries, patienceMs = usualPatienceMs} = needs;
  const delivering = createSemaphore(maxDeliveries);

  return async (mail, open, onServed) => {
    const {signal, end} = startTimeLimit(patienceMs);
    const leave = await delivering
      .acquire(signal)
      .catch(() => {
        throw tooManyDeliveries();
      })
      .finally(end);
    try {
      const content = await open();
      const envelope = {sender: mail.sender, recipients: mail.recipients, isUtf8: mail.is_utf8, isEightBit: mail.is_eight_bit};
      crashPoint('delivery.before');
      const results = await deliver.deliver(routeOf(mail), envelope, content);
      crashPoint('delivery.after');
      const [first] = results;
      if (results.every(({outcome}) => outcome === 'delivered'))
        return {reply: first ? replyText(first.reply) : null, server: first?.reply.server ?? null};

      onServed(results.filter(({outcome}) => outcome === 'delivered').map(({recipient}) => recipient));
      throw deliveryFailed(results);
    } finally {
      leave();
    }
  };
};

const tooManyDeliveries = (): Fault =>
  new Fault('unavailable', 'other mails are being delivered and take long; nothing was done, try again later', {
    retryAfterSeconds: 10,
  });

/** One line per recipient, with the reply of its server. */
const deliveryFailed = (results: readonly RecipientResult[]): Fault => {
  const delivered = results.filter(({outcome}) => outcome === 'delivered').length;
  const detail =
    delivered > 0
      ? `delivered to ${delivered} of ${results.length} recipients; the mail is still held for the others`
      : 'no recipient could be delivered; the mail is still held';
  return new Fault('delivery_failed', detail, {
    fields: results.map(({recipient, reply}) => ({path: recipient, detail: `${reply.code} ${reply.text}`.trim()})),
  });
};

import {Fault} from '../../../shared/fault.ts';
import {crashPoint} from '../../services/crash-point.ts';
import type {Deliver, Route} from '../../services/intake/mail-ports.ts';
import type {StoredHeldMail} from '../../services/quarantine/stored-mail.ts';
import {deliveryFailed} from '../delivery-failure.ts';
import {openHeldFile} from '../held-file.ts';
import type {HoldBackend} from '../hold-backend.ts';
import {createSemaphore} from '../semaphore.ts';
import type {Spool} from './spool.ts';

export interface SpoolBackendNeeds {
  spool: Spool;
  deliver: Deliver;
  /** The current route of a released mail; throws a Fault `delivery_failed` if there is none. */
  routeOf(mail: StoredHeldMail): Route;
  maxDeliveries?: number;
  /** How long a release may wait for others before it begins, in milliseconds. */
  patienceMs?: number;
}

/** A bulk release must not take all the connections that a backend allows. */
const usualMaxDeliveries = 16;
/** Leaves time for a delivery before the caller is answered, see `../../services/quarantine/answer-limit.ts`. */
const usualPatienceMs = 6000;

export const createSpoolBackend = (needs: SpoolBackendNeeds): HoldBackend => {
  const {spool, deliver, routeOf, maxDeliveries = usualMaxDeliveries, patienceMs = usualPatienceMs} = needs;
  const delivering = createSemaphore(maxDeliveries, {patienceMs, tooLate: tooManyDeliveries});

  const release: HoldBackend['release'] = async (mail, onServed) => {
    const content = await openHeldFile(spool, mail, 'delivery_failed');
    const envelope = {sender: mail.sender, recipients: mail.recipients, isUtf8: mail.is_utf8, isEightBit: mail.is_eight_bit};
    crashPoint('delivery.before');
    const results = await deliver.deliver(routeOf(mail), envelope, content);
    crashPoint('delivery.after');
    if (results.every(({outcome}) => outcome === 'delivered')) return;

    onServed(results.filter(({outcome}) => outcome === 'delivered').map(({recipient}) => recipient));
    throw deliveryFailed(results);
  };

  return {
    isReadableToTheEnd: true,
    release: async (mail, onServed) => delivering(async () => release(mail, onServed)),
    forget: spool.remove,

    async body(mail) {
      const content = await openHeldFile(spool, mail, 'internal');
      return {sizeBytes: content.sizeBytes, stream: content.open()};
    },
  };
};

const tooManyDeliveries = (): Fault =>
  new Fault('unavailable', 'other mails are being delivered and take long; nothing was done, try again later', {
    retryAfterSeconds: 10,
  });

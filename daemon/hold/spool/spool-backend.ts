import {Fault} from '../../../shared/fault.ts';
import type {HeldMail} from '../../../shared/held-mail.ts';
import {createBatch} from '../../services/batch.ts';
import {crashPoint} from '../../services/crash-point.ts';
import type {Deliver, MailHolder, ReceivedMail, Route} from '../../services/intake/mail.ts';
import type {Store} from '../../services/ports.ts';
import type {NewHeldMail, StoredHeldMail} from '../../services/quarantine/stored-mail.ts';
import {deliveryFailed} from '../action-run.ts';
import {factsOf, spoolEntry, toListEntry} from '../held-facts.ts';
import {openHeldFile} from '../held-file.ts';
import type {HoldBackend} from '../hold-backend.ts';
import {createSemaphore} from '../mail-locks.ts';
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
/** Leaves time for a delivery before the caller is answered, see `../../services/quarantine/gather.ts`. */
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

export interface SpoolHolderNeeds {
  nodeId: string;
  store: Store;
  spool: Spool;
  traceHeader(mail: ReceivedMail): Buffer;
  /** Called for every held mail once it is on stable storage. */
  onHeld(mail: HeldMail, domainId: number): void;
}

export const createSpoolHolder = ({nodeId, store, spool, traceHeader, onHeld}: SpoolHolderNeeds): MailHolder => {
  /** Mails that arrive together share a sync of the folder and a commit. */
  const index = createBatch<NewHeldMail>(async mails => {
    await spool.sync();
    crashPoint('held-row.before');
    await store.transaction(async tx => tx.hold.insert(mails));
    crashPoint('held-row.after');
  });

  return {
    async hold(mail, ownership, judgement) {
      const facts = factsOf(mail, ownership, judgement);
      const {sizeBytes, sha256} = await spool.place(facts, traceHeader(mail), mail.content);
      const entry = spoolEntry(facts, sizeBytes, sha256);
      try {
        await index(entry);
      } catch (error) {
        await spool.remove(mail.queueId);
        throw error;
      }
      onHeld(toListEntry(nodeId, entry), facts.domain_id);
    },
  };
};

import type {HeldMail} from '../../../shared/held-mail.ts';
import {createBatch} from '../../services/batch.ts';
import {crashPoint} from '../../services/crash-point.ts';
import {arrivalOf} from '../../services/events/held-event.ts';
import type {Judgement, MailHolder, ReceivedMail} from '../../services/intake/mail.ts';
import type {Store} from '../../services/ports.ts';
import type {NewHeldMail} from '../../services/quarantine/stored-mail.ts';
import {factsOf, spoolEntry, toListEntry} from '../held-facts.ts';
import {openHeldFile} from '../held-file.ts';
import type {HoldBackend} from '../hold-backend.ts';
import {createReleaseDelivery, type ReleaseDeliveryNeeds} from '../release-delivery.ts';
import type {Spool} from './spool.ts';

export const createSpoolBackend = ({spool, ...needs}: ReleaseDeliveryNeeds & {spool: Spool}): HoldBackend => {
  const deliver = createReleaseDelivery(needs);
  return {
    isReadableToTheEnd: true,
    release: async (mail, onServed) => deliver(mail, async () => openHeldFile(spool, mail, 'delivery_failed'), onServed),
    forget: spool.remove,

    async body(mail) {
      const content = await openHeldFile(spool, mail, 'internal');
      return {sizeBytes: content.sizeBytes, stream: content.open()};
    },
  };
};

export interface SpoolHolderNeeds {
  nodeId: string;
  store: Store;
  spool: Spool;
  /** The header fields that this node puts before the mail. */
  arrivalFields(mail: ReceivedMail, judgement: Judgement): Buffer;
  /** Called for every held mail once it is on stable storage. */
  onHeld(mail: HeldMail, domainId: number): void;
}

export const createSpoolHolder = ({nodeId, store, spool, arrivalFields, onHeld}: SpoolHolderNeeds): MailHolder => {
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
      const {sizeBytes, sha256} = await spool.place(facts, arrivalFields(mail, judgement), mail.content);
      const entry = spoolEntry(facts, {sizeBytes, sha256}, arrivalOf(mail));
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

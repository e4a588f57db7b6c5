// Hold of a mail in this node's spool: its bytes first, then its row.

import type {HeldMail} from '../../../shared/held-mail.ts';
import {createBatch} from '../../services/batch.ts';
import {crashPoint} from '../../services/crash-point.ts';
import type {ReceivedMail} from '../../services/intake/mail.ts';
import type {MailHolder} from '../../services/intake/mail-ports.ts';
import type {Store} from '../../services/ports.ts';
import type {NewHeldMail} from '../../services/quarantine/stored-mail.ts';
import {factsOf, spoolEntry, toListEntry} from '../held-facts.ts';
import type {Spool} from './spool.ts';

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

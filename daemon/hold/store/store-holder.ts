// Holder of mail in the store that all nodes share: row and bytes are committed together, before the 250.
import {createHash} from 'node:crypto';
import {createBatch} from '../../services/batch.ts';
import type {CommonStore} from '../../services/common-store.ts';
import {crashPoint} from '../../services/crash-point.ts';
import {arrivalOf} from '../../services/events/held-event.ts';
import type {MailHolder, ReceivedMail} from '../../services/intake/mail.ts';
import type {NewHeldMail} from '../../services/quarantine/stored-mail.ts';
import {createSemaphore} from '../../services/semaphore.ts';
import {factsOf, spoolEntry, toListEntry} from '../held-facts.ts';
import type {SpoolHolderNeeds} from '../spool/spool-backend.ts';

interface Needs extends Omit<SpoolHolderNeeds, 'spool' | 'store'> {
  /** With this node in scope. */
  store: CommonStore;
}

interface Arrival {
  entry: NewHeldMail;
  bytes(): AsyncIterable<Buffer>;
}

/** Larger mails are written alone: those that arrive with them would wait for all of their bytes, or fail with their file. */
const togetherBytes = 256 * 1024;
/** Leaves most connections to the store for everything else. */
const largeAtOnce = 2;

export const createStoreHolder = ({nodeId, store, arrivalFields, onHeld}: Needs): MailHolder => {
  const write = async (arrivals: readonly Arrival[]): Promise<void> => {
    crashPoint('held-row.before');
    await store.transaction(async tx => {
      await tx.hold.insert(arrivals.map(({entry}) => entry));
      for (const {entry, bytes} of arrivals) await tx.bodies.write(entry.queue_id, bytes());
    });
    crashPoint('held-row.after');
  };
  const writeTogether = createBatch<Arrival>(write);
  const writeAlone = createSemaphore(largeAtOnce);

  return {
    async hold(mail, ownership, judgement) {
      const facts = factsOf(mail, ownership, judgement);
      const fields = arrivalFields(mail, judgement);
      const bytes = () => bytesOf(fields, mail);
      const {sizeBytes, sha256} = await measure(bytes());
      const entry = spoolEntry(facts, {sizeBytes, sha256}, arrivalOf(mail));
      if (sizeBytes <= togetherBytes) await writeTogether({entry, bytes});
      else await writeAlone.run(async () => write([{entry, bytes}]));
      onHeld(toListEntry(nodeId, entry), facts.domain_id);
    },
  };
};

async function* bytesOf(fields: Buffer, {content}: ReceivedMail): AsyncGenerator<Buffer> {
  yield fields;
  yield* content.open() as AsyncIterable<Buffer>;
}

const measure = async (bytes: AsyncIterable<Buffer>): Promise<{sizeBytes: number; sha256: string}> => {
  const hash = createHash('sha256');
  let sizeBytes = 0;
  for await (const chunk of bytes) {
    hash.update(chunk);
    sizeBytes += chunk.length;
  }
  return {sizeBytes, sha256: hash.digest('hex')};
};

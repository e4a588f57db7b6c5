// Header From of mail that nodes of earlier versions held: read from the mail itself, so that filters find it too.
import {setTimeout as delay} from 'node:timers/promises';
import {authorAddresses} from '../services/intake/author-field.ts';
import {createHeaderReader} from '../services/intake/header-block.ts';
import type {MailBody} from '../services/intake/mail.ts';
import type {Store} from '../services/ports.ts';
import {type HoldBackendName, isHeld, type StoredHeldMail} from '../services/quarantine/stored-mail.ts';
import type {HoldBackend} from './hold-backend.ts';

export interface HeldHeaders {
  /**
   * Reads the headers of all mail whose headers have not been read, of one keeper or of all. Every call has to name the same keeper, or
   * none. A mail that cannot be read is tried again later.
   */
  readFrom(keeper?: HoldBackendName): Promise<HeadersRead>;
}

/** Numbers of mails: of those left, some cannot be read, and others are in an action. */
export interface HeadersRead {
  read: number;
  left: number;
}

interface Needs {
  store: Store;
  backendOf(mail: StoredHeldMail): HoldBackend;
  now: () => number;
}

/** Committed together. */
const batchSize = 100;
const retryMs = 600_000;
/** With so many that cannot be read, such as those in a Postfix that does not answer, no other is tried until one of them can. */
const maxFailed = 10_000;

export const createHeldHeaders = ({store, backendOf, now}: Needs, most = maxFailed): HeldHeaders => {
  const failedAt = new Map<string, number>();
  const isDue = (queueId: string): boolean => {
    const at = failedAt.get(queueId);
    return at === undefined ? failedAt.size < most : Math.abs(now() - at) >= retryMs;
  };

  /** Undefined for mail that is damaged, or in a Postfix that does not answer: who asks for its body learns why. */
  const read = async (mail: StoredHeldMail): Promise<string[] | undefined> => {
    try {
      const from = await fromIn(await backendOf(mail).body(mail));
      failedAt.delete(mail.queue_id);
      return from;
    } catch {
      failedAt.set(mail.queue_id, now());
      return undefined;
    }
  };

  const readBatch = async (queueIds: readonly string[]): Promise<number> => {
    const found: {queueId: string; from: string[]}[] = [];
    for (const mail of (await store.hold.findAll(queueIds)).filter(isHeld)) {
      const from = await read(mail);
      if (from) found.push({queueId: mail.queue_id, from});
    }
    if (found.length === 0) return 0;
    await store.transaction(async tx => {
      await tx.hold.lock(found.map(({queueId}) => queueId));
      await tx.hold.writeFrom(found);
    });
    return found.length;
  };

  return {
    async readFrom(keeper) {
      const sum = {read: 0, left: 0};
      /** Of mail that has ended the failure is forgotten. */
      const ended = new Set(failedAt.keys());
      for (let after: string | undefined = ''; after !== undefined; ) {
        const startedAtMs = performance.now();
        const queueIds: string[] = await store.hold.listWithoutFrom(after, {limit: batchSize, keeper});
        for (const queueId of queueIds) ended.delete(queueId);
        const due = queueIds.filter(isDue);
        const read = due.length > 0 ? await readBatch(due) : 0;
        sum.read += read;
        sum.left += queueIds.length - read;
        after = queueIds.length === batchSize ? queueIds.at(-1) : undefined;
        // Mail that arrives, and those who read it, go first.
        if (due.length > 0) await delay(performance.now() - startedAtMs, undefined, {ref: false});
      }
      for (const queueId of ended) failedAt.delete(queueId);
      return sum;
    },
  };
};

/** A stream that the loop leaves is closed. */
const fromIn = async ({stream}: MailBody): Promise<string[]> => {
  const reader = createHeaderReader();
  for await (const chunk of stream) {
    reader.push(chunk as Buffer);
    if (reader.isDone) break;
  }
  return authorAddresses(reader.fields());
};

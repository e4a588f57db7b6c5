// Hold backend for mails of one node whose bytes are rows of the store that all nodes share.

import {createHash} from 'node:crypto';
import {Readable} from 'node:stream';
import {Fault} from '../../../shared/fault.ts';
import type {BodyReads, CommonStore} from '../../services/common-store.ts';
import type {MailContent} from '../../services/intake/mail.ts';
import type {StoredHeldMail} from '../../services/quarantine/stored-mail.ts';
import {checkedStream} from '../checked-stream.ts';
import type {HoldBackend} from '../hold-backend.ts';
import type {DeliverReleased} from '../release-delivery.ts';

interface Needs {
  /** With the node of the mails in scope. */
  store: Pick<CommonStore, 'bodies' | 'leases'>;
  /** One for the backends of all nodes, as the limit on deliveries is that of this node. */
  deliver: DeliverReleased;
}

export const createStoreBackend = ({store: {bodies, leases}, deliver}: Needs): HoldBackend => ({
  // The bytes are removed in the transaction that ends the mail.
  isReadableToTheEnd: false,

  async release(mail, onServed) {
    let failure: unknown;
    /** A node that was frozen for longer than its lease must not send the final dot: another node may have sent the mail since. */
    const mayEnd = async () => {
      try {
        if (await leases.isOwn(mail.queue_id)) return;
        failure = lostClaim(mail);
      } catch (error) {
        failure = lostClaim(mail, error);
      }
      throw failure;
    };
    const watched: typeof bodies = {
      open: queueId =>
        bodies.open(queueId).once('error', error => {
          failure ??= error;
        }),
    };
    const open = async () =>
      openStoredBody(watched, mail, {code: 'delivery_failed', mayEnd}).catch(async error => {
        // Another node has ended the mail, and its bytes with it.
        if (error instanceof Fault && error.code === 'not_found') await mayEnd();
        throw error;
      });
    return await deliver(mail, open, onServed).catch(error => {
      // The reply of the server only says that the connection was lost.
      throw failure ?? error;
    });
  },

  // Makes an action claim the mail first, so that the bytes can be read for training.
  discard: async () => {},
  forget: async () => {},

  async body(mail) {
    const {sizeBytes, open} = await openStoredBody(bodies, mail, {code: 'internal'});
    return {sizeBytes, stream: open()};
  },
});

/** Never `outcome_unknown`, whatever the store answered: nothing was delivered. */
const lostClaim = ({queue_id}: StoredHeldMail, cause?: unknown): Fault =>
  new Fault('unavailable', `this node lost its claim of ${queue_id} and did not deliver it; try again to learn its state`, {
    cause,
    retryAfterSeconds: 5,
  });

interface Opening {
  /** The code of the Fault for bytes that have changed. */
  code: 'delivery_failed' | 'internal';
  /** Called before the last chunk is handed out; a rejection makes the stream fail. */
  mayEnd?(): Promise<void>;
}

/** Shorter mails are read once, and not again while they are sent. */
const wholeMailBytes = 256 * 1024;

/**
 * The bytes of a mail. Throws a Fault `not_found` if there are none, and one of `code` if they have changed. The stream fails if they
 * change, or cannot be read, while they are sent.
 */
const openStoredBody = async (
  bodies: BodyReads,
  {queue_id, sha256}: Pick<StoredHeldMail, 'queue_id' | 'sha256'>,
  {code, mayEnd}: Opening,
): Promise<MailContent> => {
  const hash = createHash('sha256');
  let sizeBytes = 0;
  let start: Buffer[] = [];
  for await (const chunk of bodies.open(queue_id) as AsyncIterable<Buffer>) {
    hash.update(chunk);
    sizeBytes += chunk.length;
    start = sizeBytes <= wholeMailBytes ? [...start, chunk] : [];
  }
  if (sizeBytes === 0) throw new Fault('not_found', 'the bytes of this mail are not in the store any more');
  if (hash.digest('hex') !== sha256) throw damaged(code);
  const source = () => (sizeBytes <= wholeMailBytes ? Readable.from(start) : bodies.open(queue_id));
  return {sizeBytes, open: () => checkedStream(source(), sha256, mayEnd), discard: async () => {}};
};

const damaged = (code: Opening['code']): Fault =>
  new Fault(code, 'the bytes of this mail have changed in the store, whose operator must look at it; the mail is still held');

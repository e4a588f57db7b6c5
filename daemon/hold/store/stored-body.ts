// Bytes of a held mail in the store that all nodes share, checked against its row.
import {createHash} from 'node:crypto';
import {Readable} from 'node:stream';
import {Fault} from '../../../shared/fault.ts';
import type {BodyReads} from '../../services/common-store.ts';
import type {MailContent} from '../../services/intake/mail.ts';
import type {StoredHeldMail} from '../../services/quarantine/stored-mail.ts';
import {checkedStream} from '../checked-stream.ts';

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
export const openStoredBody = async (
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

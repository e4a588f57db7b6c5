import {Readable} from 'node:stream';
import type {MailContent} from '../services/intake/mail.ts';

/** The content of a mail that is in memory as a whole. */
export const bytesContent = (bytes: Buffer): MailContent => ({
  sizeBytes: bytes.length,
  open: () => Readable.from([bytes], {objectMode: false}),
  discard: async () => undefined,
});

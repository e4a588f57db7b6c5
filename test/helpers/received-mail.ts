import {readFileSync} from 'node:fs';
import {Readable} from 'node:stream';
import {createHeaderReader} from '../../daemon/services/intake/header-block.ts';
import type {Client, Envelope, HeaderField, MailContent, ReceivedMail} from '../../daemon/services/intake/mail.ts';

export const sample = (name: string): Buffer => readFileSync(new URL(`../samples/${name}`, import.meta.url));

/** Content in memory, handed out in chunks of `chunkBytes`. */
export const contentOf = (bytes: Buffer, chunkBytes = 64 * 1024): MailContent => ({
  sizeBytes: bytes.length,
  open: () => Readable.from(chunksOf(bytes, chunkBytes), {objectMode: false}),
  discard: async () => undefined,
});

export const chunksOf = (bytes: Buffer, chunkBytes: number): Buffer[] =>
  Array.from({length: Math.ceil(bytes.length / chunkBytes)}, (_, index) =>
    bytes.subarray(index * chunkBytes, (index + 1) * chunkBytes),
  );

export const headersOf = (bytes: Buffer | string): HeaderField[] =>
  readHeader(bytes).headers.map(({name, value}) => ({name, value}));

/** What the intake reads of a mail. */
export const readHeader = (bytes: Buffer | string): Pick<ReceivedMail, 'headers' | 'strayLines'> => {
  const reader = createHeaderReader();
  reader.push(Buffer.from(bytes));
  return {headers: reader.fields(), strayLines: reader.strayLines()};
};

export interface MailParts {
  bytes?: Buffer;
  client?: Partial<Client>;
  envelope?: Partial<Envelope>;
  hasTestString?: boolean;
}

/** An unsuspicious mail from a stranger, except for the given fields. */
export const receivedMail = ({
  bytes = sample('plain.eml'),
  client,
  envelope,
  hasTestString = false,
}: MailParts = {}): ReceivedMail => ({
  queueId: 'Q1w2E3r4T5',
  receivedAt: new Date('2025-11-04T08:12:45Z'),
  client: {
    ip: '192.0.2.5',
    hostname: 'mx.example.net',
    helo: 'mx.example.net',
    isTrusted: false,
    user: null,
    protocol: 'ESMTP',
    ...client,
  },
  envelope: {sender: 'ada@example.net', recipients: ['ben@example.com'], isUtf8: false, isEightBit: false, ...envelope},
  ...readHeader(bytes),
  content: contentOf(bytes),
  hasTestString,
});

// Stream of held bytes that ends only if they are the right ones: a mail whose last chunk is missing is not taken by any server.
import {createHash} from 'node:crypto';
import {Readable} from 'node:stream';

/**
 * Fails before the last chunk if the bytes have another checksum, or if `mayEnd` rejects, which is called once the checksum is right.
 * The two streams share errors and closing, even if nobody reads.
 */
export const checkedStream = (source: Readable, sha256: string, mayEnd: () => Promise<void> = async () => {}): Readable => {
  const stream = Readable.from(checked(source, sha256, mayEnd), {objectMode: false});
  source.once('error', error => stream.destroy(error));
  stream.once('close', () => source.destroy());
  return stream;
};

async function* checked(source: AsyncIterable<Buffer>, sha256: string, mayEnd: () => Promise<void>): AsyncGenerator<Buffer> {
  const hash = createHash('sha256');
  let last: Buffer | undefined;
  for await (const chunk of source) {
    if (last) yield last;
    hash.update(chunk);
    last = chunk;
  }
  if (hash.digest('hex') !== sha256) throw new Error('the bytes have changed on the disk');
  await mayEnd();
  if (last) yield last;
}

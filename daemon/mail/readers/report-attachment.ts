// The aggregate report in a mail: as an attachment, or as the mail itself, packed or not (RFC 9990 section 3.5.1).

import {Readable} from 'node:stream';
import {createGunzip} from 'node:zlib';
import {type Entry, fromBuffer, type ZipFile} from 'yauzl';
import {partsOf} from './mail-parts.ts';

/** RFC 9990 lets a receiver of reports set limits. Reports of the largest senders have some megabytes, unpacked some ten. */
const maxPackedBytes = 10 * 1024 * 1024;
const maxUnpackedBytes = 100 * 1024 * 1024;

/** The XML in a mail. Rejects with an Error in plain words when there is none, or when it is too large. */
export const unpackReport = async (mail: Buffer): Promise<AsyncIterable<Buffer>> => {
  const packed = partsOf(mail).find(part => formatOf(part) !== undefined);
  if (!packed) throw new Error('it has no report attached');
  if (packed.length > maxPackedBytes) throw new Error(`its report is larger than ${maxPackedBytes} bytes`);
  return limited(await unpacked(packed));
};

type Format = 'gzip' | 'zip' | 'xml';

/** By the first bytes: the names and types of attachments are often wrong. */
const formatOf = (bytes: Buffer): Format | undefined => {
  if (bytes[0] === 0x1f && bytes[1] === 0x8b) return 'gzip';
  if (bytes.subarray(0, 4).toString('latin1') === 'PK\x03\x04') return 'zip';
  return /^(\xef\xbb\xbf)?\s*<(\?xml|([\w.-]+:)?feedback)[\s>]/.test(bytes.subarray(0, 200).toString('latin1'))
    ? 'xml'
    : undefined;
};

const unpacked = async (bytes: Buffer): Promise<Readable> => {
  switch (formatOf(bytes)) {
    case 'gzip':
      return Readable.from([bytes], {objectMode: false}).pipe(createGunzip());
    case 'zip':
      return firstFile(bytes);
    default:
      return Readable.from([bytes], {objectMode: false});
  }
};

/** RFC 7489 reports of some senders are zip archives with one file. */
const firstFile = async (bytes: Buffer): Promise<Readable> => {
  const zip = await new Promise<ZipFile>((resolve, reject) => {
    fromBuffer(bytes, {lazyEntries: true}, (error, opened) => (error ? reject(error) : resolve(opened)));
  });
  const entry = await new Promise<Entry>((resolve, reject) => {
    zip.on('entry', (one: Entry) => (one.fileName.endsWith('/') ? zip.readEntry() : resolve(one)));
    zip.once('end', () => reject(new Error('its archive is empty')));
    zip.once('error', reject);
    zip.readEntry();
  });
  return new Promise((resolve, reject) => {
    zip.openReadStream(entry, (error, stream) => (error ? reject(error) : resolve(stream)));
  });
};

async function* limited(stream: Readable): AsyncGenerator<Buffer> {
  let sizeBytes = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    sizeBytes += chunk.length;
    if (sizeBytes > maxUnpackedBytes) throw new Error(`its report is larger than ${maxUnpackedBytes} bytes when unpacked`);
    yield chunk;
  }
}

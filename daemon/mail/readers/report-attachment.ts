// The aggregate report in a mail: as an attachment, or as the mail itself, packed or not (RFC 9990 section 3.5.1).

import {createInflateRaw} from 'node:zlib';
import {type Entry, fromBufferPromise, type ZipFile} from 'yauzl';
import {partsOf} from './mail-parts.ts';
import {headOfXml} from './xml-encoding.ts';

/** RFC 9990 lets a receiver of reports set limits. Reports of the largest senders have some megabytes, unpacked some ten. */
const maxPackedBytes = 10 * 1024 * 1024;
/** In archives a report comes with a text and some files of the system that made it. */
const maxFiles = 10;

type Xml = AsyncIterable<Buffer>;

/**
 * What may be the report in a mail, in the order of the mail; together they unpack to `maxUnpackedBytes`. Throws an Error in plain words
 * when there is nothing, or an archive cannot be read.
 */
export async function* unpackReport(mail: Buffer, {maxUnpackedBytes = 100 * 1024 * 1024} = {}): AsyncGenerator<Xml> {
  const limited = createLimit(maxUnpackedBytes);
  let files = 0;
  let problem: unknown = new Error('it has no report attached');
  for (const part of partsOf(mail)) {
    try {
      for await (const xml of contentsOf(part)) {
        if (files === maxFiles) return;
        files += 1;
        problem = undefined;
        yield limited(xml);
      }
    } catch (error) {
      problem = error;
    }
  }
  if (problem !== undefined) throw problem;
}

/** By the first bytes: the names and types of attachments are often wrong. */
async function* contentsOf(part: Buffer): AsyncGenerator<Xml> {
  const isZip = part.subarray(0, 4).toString('latin1') === 'PK\x03\x04';
  if (!isZip && !isGzip(part) && !isReport(part)) return;
  if (part.length > maxPackedBytes) throw new Error(`its report is larger than ${maxPackedBytes} bytes`);
  if (isZip) yield* filesOf(part);
  else yield isGzip(part) ? gunzipped(part) : inOnePiece(part);
}

const isGzip = (bytes: Buffer): boolean => bytes[0] === 0x1f && bytes[1] === 0x8b;

const isReport = (bytes: Buffer): boolean => /^\s*<(\?xml\s|(!DOCTYPE\s+)?([\w.-]+:)?feedback[\s>])/.test(headOfXml(bytes));

async function* inOnePiece(bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes;
}

/** A gzip file has one member, nearly always. */
const maxMembers = 100;

/** The members of a gzip file (RFC 1952 section 2). Some senders write more behind the last one, which the gunzip of Node refuses. */
async function* gunzipped(packed: Buffer): AsyncGenerator<Buffer> {
  let rest = packed;
  for (let members = 0; members < maxMembers && isGzip(rest); members += 1) {
    const data = rest.subarray(headerLength(rest));
    const inflate = createInflateRaw();
    inflate.end(data);
    yield* inflate as AsyncIterable<Buffer>;
    rest = data.subarray(inflate.bytesWritten + trailerBytes);
  }
}

const trailerBytes = 8;

/** RFC 1952 section 2.3. A name without an end is not skipped, which makes the data invalid. */
const headerLength = (member: Buffer): number => {
  const flags = member[3] ?? 0;
  const extraBytes = flags & 4 ? 2 + (member[10] ?? 0) + 256 * (member[11] ?? 0) : 0;
  let length = 10 + extraBytes;
  for (const text of [8, 16]) if (flags & text) length = member.indexOf(0, length) + 1;
  return flags & 2 ? length + 2 : length;
};

/** RFC 7489 reports of some senders are zip archives. */
async function* filesOf(archive: Buffer): AsyncGenerator<Xml> {
  const zip = await fromBufferPromise(archive);
  for await (const entry of zip.eachEntry()) if (!entry.fileName.endsWith('/')) yield contentOf(zip, entry);
}

async function* contentOf(zip: ZipFile, entry: Entry): AsyncGenerator<Buffer> {
  yield* (await zip.openReadStreamPromise(entry)) as AsyncIterable<Buffer>;
}

/** A limit for the total size of everything that it gets. */
const createLimit = (maxBytes: number) => {
  let sizeBytes = 0;
  return async function* limited(xml: Xml): AsyncGenerator<Buffer> {
    for await (const chunk of xml) {
      sizeBytes += chunk.length;
      if (sizeBytes > maxBytes) throw new Error(`its report is larger than ${maxBytes} bytes when unpacked`);
      yield chunk;
    }
  };
};

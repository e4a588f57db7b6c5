// Spool: one file for each held mail, with a header block that describes the mail, and its bytes, each with a checksum. The index
// can be rebuilt from the files alone.
import {createHash, hash} from 'node:crypto';
import * as fs from 'node:fs';
import {createReadStream, opendirSync} from 'node:fs';
import {type FileHandle, mkdir, open, rm, stat, unlink} from 'node:fs/promises';
import {join} from 'node:path';
import {Readable} from 'node:stream';
import {setImmediate} from 'node:timers/promises';
import {promisify} from 'node:util';
import {Fault} from '../../../shared/fault.ts';
import {queueIdPattern} from '../../../shared/fields.ts';
import {syncFolder} from '../../../shared/sync-folder.ts';
import {crashPoint} from '../../services/crash-point.ts';
import type {HeldMailFacts, MailContent} from '../../services/intake/mail.ts';

/** Shorter files are read at once: opening them again costs more than reading them. */
const wholeFileBytes = 64 * 1024;

export interface SpooledMail {
  facts: HeldMailFacts;
  /** Trace header and mail as received. */
  content: MailContent;
  sha256: string;
  /** All of `content`, if it is short enough to be read together with the header. */
  bytes?: Buffer;
}

export interface Spool {
  /**
   * Puts a mail in the spool. Resolves once its bytes are on stable storage; its name is after the next `sync`. Rejects and leaves
   * nothing behind when the disk is full (`ENOSPC`).
   */
  place(facts: HeldMailFacts, arrivalFields: Buffer, content: MailContent): Promise<{sizeBytes: number; sha256: string}>;
  /** Resolves once the names of all mails that were placed before are on stable storage. */
  sync(): Promise<void>;
  /** Reads the header block of a file. Throws a Fault `not_found` if there is no such file. Rejects if it is damaged. */
  open(queueId: string): Promise<SpooledMail>;
  /** Whether the bytes are the ones that were written. */
  isIntact(mail: SpooledMail): Promise<boolean>;
  /** A missing file is not an error. */
  remove(queueId: string): Promise<void>;
  /** Whether there is a file with that name, in whatever state. */
  has(queueId: string): Promise<boolean>;
  /** Queue ids of all files in any order, `size` at a time. */
  batches(size: number): AsyncIterable<string[]>;
  /** Moves an unreadable file out of the way without deleting it. */
  setAside(queueId: string): Promise<void>;
}

/** `root` gets the folders `held`, `tmp` (emptied, as its files were never acknowledged) and `damaged`. */
export const createSpool = async (root: string): Promise<Spool & {tmpDir: string}> => {
  const held = join(root, 'held');
  const tmpDir = join(root, 'tmp');
  const damaged = join(root, 'damaged');
  await rm(tmpDir, {recursive: true, force: true});
  for (const dir of [held, tmpDir, damaged]) await mkdir(dir, {recursive: true, mode: 0o700});

  await syncFolder(root);

  return {
    tmpDir,

    async place(facts, arrivalFields, content) {
      const path = join(held, fileName(facts.queue_id));
      const tmp = join(tmpDir, facts.queue_id);
      try {
        const written = await writeSpoolFile(tmp, facts, arrivalFields, content);
        crashPoint('spool-rename.before');
        await rename(tmp, path);
        crashPoint('spool-rename.after');
        return written;
      } catch (error) {
        await Promise.all([tmp, path].map(async file => rm(file, {force: true})));
        throw error;
      }
    },

    sync: async () => syncFolder(held),

    open: async queueId => readSpoolFile(join(held, fileName(queueId))),

    has: async queueId =>
      queueIdPattern.test(queueId) &&
      (await stat(join(held, queueId)).then(
        () => true,
        error => error.code !== 'ENOENT',
      )),

    isIntact: async ({content, sha256}) => (await sha256OfAll(content).catch(tellMissing)) === sha256,

    async remove(queueId) {
      await unlink(join(held, fileName(queueId))).catch(ignoreMissing);
    },

    async *batches(size) {
      // A promise for each of a million names takes three times as long.
      const folder = opendirSync(held, {bufferSize: size});
      try {
        let names: string[] = [];
        for (let file = folder.readSync(); file; file = folder.readSync()) {
          if (queueIdPattern.test(file.name)) names.push(file.name);
          if (names.length < size) continue;
          yield names;
          names = [];
          // Nothing else would run until the last name.
          await setImmediate();
        }
        yield names;
      } finally {
        folder.closeSync();
      }
    },

    async setAside(queueId) {
      await rename(join(held, fileName(queueId)), join(damaged, queueId)).catch(ignoreMissing);
    },
  };
};

/** A queue id may come from a URL: no other characters may become part of a path. */
const fileName = (queueId: string): string => {
  if (!queueIdPattern.test(queueId)) throw new Fault('not_found', 'there is no such mail');
  return queueId;
};

const readSpoolFile = async (path: string): Promise<SpooledMail> => {
  const file = await open(path, 'r').catch(tellMissing);
  try {
    const first = await readAt(file, 0, wholeFileBytes);
    const size = first.length < wholeFileBytes ? first.length : (await file.stat()).size;
    const isWhole = first.length === size;
    const read = async (position: number, length: number) =>
      isWhole ? first.subarray(position, position + length) : readAt(file, position, length);
    const [line = ''] = first.toString('latin1', 0, 128).split('\n', 1);
    const [, length = '0', factsDigest] = new RegExp(`^${magic} (\\d{1,7}) ([0-9a-f]{64})$`).exec(line) ?? [];
    const factsBytes = Number(length);
    const start = line.length + 1 + factsBytes + 1;
    const end = size - trailerBytes;
    if (factsBytes === 0 || factsBytes > maxFactsBytes || end < start) throw new Error('no spool file');

    const json = await read(line.length + 1, factsBytes);
    if (sha256Of(json) !== factsDigest) throw new Error('spool file with a damaged header block');
    const facts = JSON.parse(json.toString()) as HeldMailFacts;
    const sha256 = /^sha256:([0-9a-f]{64})\n$/.exec((await read(end, trailerBytes)).toString('latin1'))?.[1];
    if (sha256 === undefined) throw new Error('spool file without its checksum');
    if (!isWhole) return {facts, sha256, content: fileContent(path, start, end)};
    const bytes = first.subarray(start, end);
    return {facts, sha256, bytes, content: memoryContent(bytes)};
  } finally {
    await file.close();
  }
};

const fileContent = (path: string, start: number, end: number): MailContent => ({
  sizeBytes: end - start,
  open: () => (end === start ? Readable.from([]) : createReadStream(path, {start, end: end - 1})),
  discard: async () => {},
});

const memoryContent = (bytes: Buffer): MailContent => ({
  sizeBytes: bytes.length,
  open: () => Readable.from(bytes.length === 0 ? [] : [bytes]),
  discard: async () => {},
});

const readAt = async (file: FileHandle, position: number, length: number): Promise<Buffer> => {
  const {buffer, bytesRead} = await file.read(Buffer.allocUnsafe(length), 0, length, position);
  return buffer.subarray(0, bytesRead);
};

const sha256OfAll = async (content: MailContent): Promise<string> => {
  const hash = createHash('sha256');
  for await (const chunk of content.open()) hash.update(chunk as Buffer);
  return hash.digest('hex');
};

const tellMissing = (error: NodeJS.ErrnoException): never => {
  if (error.code === 'ENOENT') throw new Fault('not_found', 'the bytes of this mail are not on this node any more');
  throw error;
};

const ignoreMissing = (error: NodeJS.ErrnoException): void => {
  if (error.code !== 'ENOENT') throw error;
};

const magic = 'mfd-spool 1';
/** Far above the limits on recipients and symbols together. */
const maxFactsBytes = 8 * 1024 * 1024;
const trailerBytes = 'sha256:'.length + 64 + 1;

// Every held mail waits for these: file handles of node:fs/promises take several times as long.
const openFile = promisify(fs.open);
const writev = promisify(fs.writev);
const write = promisify(fs.write);
const fsync = promisify(fs.fsync);
/** Synchronous: after the sync there is nothing left to wait for. */
const close = fs.closeSync;
const rename = promisify(fs.rename);

/** Resolves once the bytes are on stable storage; the name needs a sync of the folder. */
const writeSpoolFile = async (path: string, facts: HeldMailFacts, arrivalFields: Buffer, content: MailContent) => {
  const json = factsJson(facts);
  const digest = createHash('sha256').update(arrivalFields);
  let sizeBytes = arrivalFields.length;
  const file = await openFile(path, 'wx', 0o600);
  try {
    // Small mails are written at once, streams of large ones in their own chunks.
    let pending = [headLine(json), json, Buffer.from('\n'), arrivalFields];
    for await (const chunk of content.open()) {
      const bytes = chunk as Buffer;
      digest.update(bytes);
      sizeBytes += bytes.length;
      pending.push(bytes);
      if (sizeBytes < 1024 * 1024 && pending.length < 64) continue;
      await writeAll(file, pending);
      pending = [];
    }
    const sha256 = digest.digest('hex');
    await writeAll(file, [...pending, trailer(sha256)]);
    crashPoint('spool-sync.before');
    await fsync(file);
    crashPoint('spool-sync.after');
    return {sizeBytes, sha256};
  } finally {
    close(file);
  }
};

/** A write may be shorter than requested, for example when the disk is almost full. */
const writeAll = async (file: number, buffers: Buffer[]): Promise<void> => {
  const wanted = buffers.reduce((sum, {length}) => sum + length, 0);
  let {bytesWritten: done} = await writev(file, buffers);
  if (done === wanted) return;
  for (const rest = Buffer.concat(buffers); done < wanted; ) done += (await write(file, rest, done)).bytesWritten;
};

const factsJson = (facts: HeldMailFacts): Buffer => {
  const json = Buffer.from(JSON.stringify(facts));
  if (json.length > maxFactsBytes)
    throw new Error(`${json.length} bytes of facts about one mail; a spool file takes ${maxFactsBytes}`);
  return json;
};

const headLine = (json: Uint8Array): Buffer => Buffer.from(`${magic} ${json.length} ${sha256Of(json)}\n`);
const trailer = (sha256: string): Buffer => Buffer.from(`sha256:${sha256}\n`);

const sha256Of = (bytes: Uint8Array): string => hash('sha256', bytes, 'hex');

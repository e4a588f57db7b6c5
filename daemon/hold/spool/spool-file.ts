// Writer of one spool file: a header block, the mail, a checksum.

import {createHash, hash} from 'node:crypto';
import * as fs from 'node:fs';
import {promisify} from 'node:util';
import {crashPoint} from '../../services/crash-point.ts';
import type {HeldMailFacts, MailContent} from '../../services/intake/mail.ts';

export const magic = 'mfd-spool 1';
/** Far above the limits on recipients and symbols together. */
export const maxFactsBytes = 8 * 1024 * 1024;
export const trailerBytes = 'sha256:'.length + 64 + 1;

// Every held mail waits for these: file handles of node:fs/promises take several times as long.
const open = promisify(fs.open);
const writev = promisify(fs.writev);
const write = promisify(fs.write);
const fsync = promisify(fs.fsync);
/** Synchronous: after the sync there is nothing left to wait for. */
const close = fs.closeSync;
export const rename = promisify(fs.rename);

/** Resolves once the bytes are on stable storage; the name needs a sync of the folder. */
export const writeSpoolFile = async (path: string, facts: HeldMailFacts, traceHeader: Buffer, content: MailContent) => {
  const json = factsJson(facts);
  const digest = createHash('sha256').update(traceHeader);
  let sizeBytes = traceHeader.length;
  const file = await open(path, 'wx', 0o600);
  try {
    // Small mails are written at once, streams of large ones in their own chunks.
    let pending = [headLine(json), json, Buffer.from('\n'), traceHeader];
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

export const sha256Of = (bytes: Uint8Array): string => hash('sha256', bytes, 'hex');

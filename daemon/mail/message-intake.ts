// Intake of mail content: checks it, measures it, and keeps it in memory or, when it is large, in a file.

import {createReadStream} from 'node:fs';
import {type FileHandle, open, unlink} from 'node:fs/promises';
import {join} from 'node:path';
import {Readable} from 'node:stream';
import {hasOwn} from '../../shared/has-own.ts';
import type {MailContent, PlacedField, SmtpReply} from '../services/intake/mail.ts';
import {createContentChecker} from './content-check.ts';
import {replies} from './smtp-reply.ts';

export interface MessageIntakeNeeds {
  /** A folder on a disk that may become full. Each file is removed when its content is discarded. */
  tmpDir: string;
  maxSizeBytes: number;
  /** Larger content goes to a file. */
  maxMemoryBytes?: number;
  /** False when the sending mail server has already checked the form (RFC 5321). */
  isFormChecked?: boolean;
}

export type Taken =
  | {kind: 'taken'; content: MailContent; headers: PlacedField[]; strayLines: string[]; hasTestString: boolean}
  | {kind: 'refused'; reply: SmtpReply; cause?: unknown};

export interface MessageIntake {
  /**
   * Reads `stream` to its end even when the mail is refused, so that the session survives. Rejects only when the stream does,
   * after freeing everything. The caller has to discard the content.
   */
  take(stream: AsyncIterable<Buffer>, name: string): Promise<Taken>;
}

export const createMessageIntake = ({
  tmpDir,
  maxSizeBytes,
  maxMemoryBytes = 256 * 1024,
  isFormChecked = true,
}: MessageIntakeNeeds): MessageIntake => ({
  take: async (stream, name) => {
    const checker = createContentChecker({isFormChecked});
    const content = createGrowingContent(join(tmpDir, `${name}.in`), maxMemoryBytes);
    let refused: {reply: SmtpReply; cause?: unknown} | undefined;
    try {
      for await (const chunk of inPieces(stream)) {
        if (refused) continue;
        if (content.sizeBytes + chunk.length > maxSizeBytes) refused = {reply: replies.tooBig};
        else refused = await keepChunk(content, checker, chunk);
        if (refused) await content.discard();
      }
      refused ??= await finish(content);
    } catch (error) {
      await content.discard();
      throw error;
    }
    if (refused) return {kind: 'refused', ...refused};

    const {violation, headers, strayLines, hasTestString, isHeaderTooLong} = checker.end();
    if (!violation && !isHeaderTooLong) return {kind: 'taken', content, headers, strayLines, hasTestString};
    await content.discard();
    return {kind: 'refused', reply: violation ?? replies.headerTooBig};
  },
});

const pieceBytes = 64 * 1024;

/** Joins small chunks: a client may send its mail in packets of a few bytes, and a write for each would take seconds. */
async function* inPieces(stream: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let gathered: Buffer[] = [];
  let sizeBytes = 0;
  for await (const chunk of stream) {
    gathered.push(chunk);
    sizeBytes += chunk.length;
    // A Buffer of one byte takes as much memory as hundreds of bytes.
    if (gathered.length === 128) gathered = [Buffer.concat(gathered)];
    if (sizeBytes < pieceBytes) continue;
    yield Buffer.concat(gathered);
    gathered = [];
    sizeBytes = 0;
  }
  if (sizeBytes > 0) yield Buffer.concat(gathered);
}

type Growing = MailContent & {append(chunk: Buffer): Promise<void>; finish(): Promise<void>};

const keepChunk = async (content: Growing, checker: {push(chunk: Buffer): void}, chunk: Buffer) => {
  checker.push(chunk);
  return answering(() => content.append(chunk));
};

const finish = (content: Growing) => answering(() => content.finish());

/** A full disk, like any other internal error, makes the sender retry later. */
const answering = async (step: () => Promise<void>): Promise<{reply: SmtpReply; cause: unknown} | undefined> => {
  try {
    await step();
    return undefined;
  } catch (cause) {
    return {reply: replyToStorageError(cause), cause};
  }
};

/** 452 for a full disk, also in a wrapped error; 451 for every other error. Never a 250, never a permanent refusal. */
export const replyToStorageError = (error: unknown): SmtpReply => {
  if (!(error instanceof Error)) return replies.internal;
  if (hasOwn(error, 'code') && fullCodes.has(error.code)) return replies.noSpace;
  return replyToStorageError(error.cause);
};

const fullCodes = new Set<unknown>(['ENOSPC', 'EDQUOT', 'SQLITE_FULL']);

const createGrowingContent = (path: string, maxMemoryBytes: number): Growing => {
  let chunks: Buffer[] = [];
  let sizeBytes = 0;
  let file: FileHandle | undefined;
  let isSpilled = false;
  let isDiscarded = false;

  const spill = async (): Promise<FileHandle> => {
    file = await open(path, 'wx', 0o600);
    isSpilled = true;
    const held = chunks;
    chunks = [];
    await file.writeFile(Buffer.concat(held));
    return file;
  };

  return {
    get sizeBytes() {
      return sizeBytes;
    },
    append: async chunk => {
      sizeBytes += chunk.length;
      if (!isSpilled && sizeBytes <= maxMemoryBytes) chunks.push(chunk);
      else await (file ?? (await spill())).writeFile(chunk);
    },
    finish: async () => {
      await file?.close();
      file = undefined;
    },
    open: () => (isSpilled ? createReadStream(path) : Readable.from(chunks, {objectMode: false})),
    discard: async () => {
      if (isDiscarded) return;
      isDiscarded = true;
      chunks = [];
      // Separate steps: a file that cannot be closed must still be removed.
      await file?.close().catch(() => undefined);
      if (isSpilled) await unlink(path).catch(() => undefined);
    },
  };
};

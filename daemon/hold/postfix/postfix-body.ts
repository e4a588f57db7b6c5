// Body of a mail in Postfix's queue as Postfix will send it: postcat writes its lines with LF.
import {randomUUID} from 'node:crypto';
import {createReadStream, createWriteStream} from 'node:fs';
import {stat, unlink} from 'node:fs/promises';
import {join} from 'node:path';
import {type Readable, Transform} from 'node:stream';
import {pipeline} from 'node:stream/promises';
import {Fault} from '../../../shared/fault.ts';
import type {PostfixPrograms} from './postfix-programs.ts';

/** Reads the whole body into a file first, as the size precedes the content. The file is removed when the stream closes. */
export const readBody = async (
  programs: Pick<PostfixPrograms, 'body'>,
  queueId: string,
  tmpDir: string,
): Promise<{sizeBytes: number; stream: Readable}> => {
  const path = join(tmpDir, `${queueId}-${randomUUID()}.body`);
  const {stdout, ended} = await programs.body(queueId);
  try {
    await pipeline(stdout, createLineEnds(), createWriteStream(path, {mode: 0o600, flags: 'wx'}));
    const {code, stderr} = await ended;
    if (code !== 0) throw new Fault('unavailable', unreadable, {cause: new Error(stderr.slice(0, 300)), retryAfterSeconds: 30});
    const {size: sizeBytes} = await stat(path);
    const stream = createReadStream(path);
    stream.once('close', () => void unlink(path).catch(() => undefined));
    return {sizeBytes, stream};
  } catch (error) {
    await unlink(path).catch(() => undefined);
    throw error instanceof Fault ? error : new Fault('unavailable', unreadable, {cause: error, retryAfterSeconds: 60});
  }
};

const unreadable = 'Postfix did not show this mail: it has left the hold queue, or this node may not read it; its log says why';

const LF = 10;
const crlf = Buffer.from('\r\n');

/** Replaces every LF by CRLF; a CR before it in the mail is kept. */
const createLineEnds = (): Transform =>
  new Transform({
    transform(chunk: Buffer, _encoding, callback) {
      const parts: Buffer[] = [];
      let from = 0;
      for (let at = chunk.indexOf(LF); at !== -1; at = chunk.indexOf(LF, from)) {
        parts.push(chunk.subarray(from, at), crlf);
        from = at + 1;
      }
      parts.push(chunk.subarray(from));
      callback(null, Buffer.concat(parts));
    },
  });

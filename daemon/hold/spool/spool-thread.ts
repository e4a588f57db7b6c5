// The thread that writes small held mails into the spool. On the main one each step of a file is a wait of its own, and what
// these cost is more than all else that is done about a mail.
import * as fs from 'node:fs';
import {join} from 'node:path';
import {promisify} from 'node:util';
import {parentPort, workerData} from 'node:worker_threads';
import {createBatch} from '../../services/batch.ts';
import {crashPoint} from '../../services/crash-point.ts';
import {headLine, sha256Of, syncFolder, trailer} from './spool-file.ts';

/** A mail to be put in the spool: `bytes` are its facts as JSON, then the trace header and the mail. */
export interface PlaceOrder {
  queueId: string;
  bytes: Uint8Array;
  factsBytes: number;
}

export type Placed = {queueId: string; sha256: string} | {queueId: string; failure: {message: string; code?: string}};

export interface SpoolFolders {
  held: string;
  tmp: string;
}

const {held, tmp} = workerData as SpoolFolders;
const fsync = promisify(fs.fsync);
const syncHeld = createBatch<undefined>(async () => syncFolder(held));
const tell = createBatch<Placed>(async placed => parentPort?.postMessage(placed));

const place = async ({queueId, bytes, factsBytes}: PlaceOrder): Promise<string> => {
  const [part, path] = [join(tmp, queueId), join(held, queueId)];
  const facts = bytes.subarray(0, factsBytes);
  const mail = bytes.subarray(factsBytes);
  const sha256 = sha256Of(mail);
  try {
    const file = fs.openSync(part, 'wx', 0o600);
    try {
      fs.writeFileSync(file, Buffer.concat([headLine(facts), facts, Buffer.from('\n'), mail, trailer(sha256)]));
      crashPoint('spool-sync.before');
      await fsync(file);
      crashPoint('spool-sync.after');
    } finally {
      fs.closeSync(file);
    }
    crashPoint('spool-rename.before');
    fs.renameSync(part, path);
    crashPoint('spool-rename.after');
    await syncHeld(undefined);
    return sha256;
  } catch (error) {
    for (const file of [part, path]) fs.rmSync(file, {force: true});
    throw error;
  }
};

/** An error loses its code on the way between threads. */
const failureOf = (error: unknown) => {
  const {message, code} = error as NodeJS.ErrnoException;
  return {message, ...(code !== undefined && {code})};
};

parentPort?.on('message', (orders: PlaceOrder[]) => {
  for (const order of orders) {
    const {queueId} = order;
    void place(order).then(
      sha256 => tell({queueId, sha256}),
      error => tell({queueId, failure: failureOf(error)}),
    );
  }
});

// Reading of reports in a thread of its own: whoever knows the address may send archives that unpack to anything, and the thread has a
// limit for its memory and its time, which the node itself cannot have.
import {buffer} from 'node:stream/consumers';
import {Worker} from 'node:worker_threads';
import {Fault} from '../../../shared/fault.ts';
import type {ReadReport, ReceivedReport, Unreadable} from '../../services/dmarc/received-report.ts';

/** Packed reports of the highest size are a third larger in a mail. */
const maxMailBytes = 16 * 1024 * 1024;
/** A report of 100 MiB takes some seconds. */
const maxMs = 30_000;
const memory = {maxOldGenerationSizeMb: 120};
/** A client waits for the answer, and would have given up; its mail must not take the time of the mails behind it. */
const maxWaitMs = 60_000;

export type Answer = ReceivedReport | Unreadable;

/**
 * Starts the thread, the module `file`, for each report; one at a time. Rejects with a Fault `unavailable` when others before it took
 * too long.
 */
export const createReportThread = (file: URL, {withinMs = maxMs, now = Date.now} = {}): ReadReport => {
  let last: Promise<unknown> = Promise.resolve();

  const read = async (bytes: Buffer): Promise<Answer> => {
    const worker = new Worker(file, {workerData: bytes, resourceLimits: memory});
    const timer = setTimeout(() => void worker.terminate(), withinMs);
    try {
      return await new Promise<Answer>((resolve, reject) => {
        worker.once('message', resolve);
        worker.once('error', (error: NodeJS.ErrnoException) => {
          if (error.code === 'ERR_WORKER_OUT_OF_MEMORY') resolve({unreadable: 'it needs too much memory to read'});
          // Not for what is in the mail, such as the file of the thread that an upgrade has replaced.
          else reject(new Error(`the thread for reports failed: ${error.message}`));
        });
        worker.once('exit', () => resolve({unreadable: 'it took too long to read'}));
      });
    } finally {
      clearTimeout(timer);
      await worker.terminate();
    }
  };

  return async content => {
    if (content.sizeBytes > maxMailBytes) return {unreadable: `the mail is larger than ${maxMailBytes} bytes`};
    const askedAt = now();
    const turn = last.then(async () => {
      if (now() - askedAt > maxWaitMs) throw new Fault('unavailable', 'reading the reports before this one took too long');
      return read(await buffer(content.open()));
    });
    last = turn.catch(() => undefined);
    return turn;
  };
};

// The thread that reads one report.
import {parentPort, workerData} from 'node:worker_threads';
import {unpackReport} from './report-attachment.ts';
import {parseReport} from './report-parser.ts';
import type {Answer} from './report-thread.ts';

/** Errors of the libraries quote from the mail. */
const maxReasonChars = 200;

const answer = (message: Answer): void => parentPort?.postMessage(message);

try {
  answer(await parseReport(await unpackReport(Buffer.from(workerData as Uint8Array<ArrayBuffer>))));
} catch (error) {
  answer({unreadable: (error instanceof Error ? error.message : String(error)).slice(0, maxReasonChars)});
}

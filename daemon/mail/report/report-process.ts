// Reading of reports in a process of its own: whoever knows the address may send archives that unpack to anything. The process has a limit
// for its memory and its time. Of a thread that uses up its memory, Node may end the whole node.
import {spawn} from 'node:child_process';
import {once} from 'node:events';
import {buffer, text} from 'node:stream/consumers';
import {fileURLToPath} from 'node:url';
import {Fault} from '../../../shared/fault.ts';
import type {ReadReport, ReceivedReport, Unreadable} from '../../services/dmarc/received-report.ts';

/** Packed reports of the highest size are a third larger in a mail. */
const maxMailBytes = 16 * 1024 * 1024;
/** A report of 100 MiB takes some seconds. */
const maxMs = 30_000;
const maxHeapMb = 64;
/** A client waits for the answer, and would have given up; its mail must not take the time of the mails behind it. */
const maxWaitMs = 60_000;

/**
 * Starts the process, the module `file`, for each report; one at a time. Rejects with a Fault `unavailable` when others before it took
 * too long.
 */
export const createReportProcess = (file: URL, {withinMs = maxMs, heapMb = maxHeapMb, now = Date.now} = {}): ReadReport => {
  let last: Promise<unknown> = Promise.resolve();

  const read = async (bytes: Buffer): Promise<ReceivedReport | Unreadable> => {
    const limits = [`--max-old-space-size=${heapMb}`, '--max-semi-space-size=2'];
    // Node writes pages about memory that is used up.
    const child = spawn(process.execPath, [...limits, fileURLToPath(file)], {env: {}, stdio: ['pipe', 'pipe', 'ignore']});
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      child.kill('SIGKILL');
    }, withinMs);
    // When it does not take the mail to its end, it has ended.
    child.stdin.on('error', () => {}).end(bytes);
    const [answer, [code, signal]] = await Promise.all([text(child.stdout), once(child, 'exit')]).finally(() =>
      clearTimeout(timer),
    );
    if (code === 0) return JSON.parse(answer) as ReceivedReport | Unreadable;
    if (isLate) return {unreadable: 'it took too long to read'};
    if (outOfMemory.has(signal)) return {unreadable: 'it needs too much memory to read'};
    // Not for what is in the mail, such as the file of the process that an upgrade has replaced.
    throw new Error(`the process for reports ended with ${signal ?? code}`);
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

/** Node aborts, or traps; the system kills. */
const outOfMemory: ReadonlySet<unknown> = new Set(['SIGABRT', 'SIGTRAP', 'SIGILL', 'SIGKILL']);

// Checking of signatures beside the node: it takes more of the processor than all the rest that a mail needs.
import {buffer} from 'node:stream/consumers';
import {Worker} from 'node:worker_threads';
import type {Lookup} from '../lookup.ts';
import {type CheckSignatures, checkSignatures, type SignatureCheck} from '../readers/check-signatures.ts';
import type {FromThread, ToThread} from './signature-protocol.ts';

/** A larger mail, which would be copied as a whole, is checked in pieces by the node itself. */
const maxBytes = 256 * 1024;

interface Pending {
  lookup: Lookup;
  timer: NodeJS.Timeout;
  resolve(result: SignatureCheck): void;
  reject(error: unknown): void;
}

export interface SignatureThread {
  check: CheckSignatures;
  /** Resolves once the thread runs, which takes longer than most answers of DNS. */
  load(): Promise<void>;
  close(): Promise<void>;
}

interface Running {
  worker: Worker;
  isLoaded: Promise<void>;
}

/** Longer than all questions of a mail to DNS: a mail that takes more of it holds up the others. */
const maxMs = 60_000;

/** Starts the thread, the module `file`, with the first mail. After a failure another one is started. */
export const createSignatureThread = (file: URL, withinMs = maxMs): SignatureThread => {
  const pending = new Map<number, Pending>();
  let checks = 0;
  let running: Running | undefined;

  const fail = (worker: Worker, error: unknown): void => {
    if (running?.worker !== worker) return;
    running = undefined;
    const all = [...pending.values()];
    pending.clear();
    for (const {timer, reject} of all) {
      clearTimeout(timer);
      reject(error);
    }
  };
  const answer = async (worker: Worker, {lookup}: Pending, question: number, asked: Parameters<Lookup>): Promise<void> => {
    const tell = (message: ToThread) => worker.postMessage(message);
    await lookup(...asked).then(
      records => tell({question, records}),
      ({code}) => tell({question, code}),
    );
  };
  const hear = (worker: Worker, message: FromThread): void => {
    const one = pending.get(message.check);
    if (!one) return;
    if ('asked' in message) return void answer(worker, one, message.question, message.asked);
    pending.delete(message.check);
    clearTimeout(one.timer);
    // A process that has nothing else to do may end.
    if (pending.size === 0) worker.unref();
    if ('result' in message) one.resolve(message.result);
    else if ('error' in message) one.reject(message.error);
  };
  const start = (): Running => {
    const worker = new Worker(file);
    const isLoaded = new Promise<void>((resolve, reject) => {
      worker.once('message', () => resolve());
      worker.once('exit', () => reject(new Error('the thread for signatures did not start')));
    });
    isLoaded.catch(() => {});
    worker.on('message', message => hear(worker, message));
    worker.on('error', error => fail(worker, error));
    worker.on('exit', code => fail(worker, new Error(`the thread for signatures ended with ${code}`)));
    return {worker, isLoaded};
  };

  return {
    async check(mail, lookup) {
      if (mail.sizeBytes > maxBytes) return checkSignatures(mail, lookup);
      const bytes = await buffer(mail.open());
      checks += 1;
      const check = checks;
      running ??= start();
      const {worker} = running;
      return new Promise((resolve, reject) => {
        const timer = setTimeout(() => void worker.terminate(), withinMs);
        pending.set(check, {lookup, timer, resolve, reject});
        worker.ref();
        worker.postMessage({check, mail: bytes} satisfies ToThread);
      });
    },
    async load() {
      running ??= start();
      await running.isLoaded;
    },
    async close() {
      await running?.worker.terminate();
    },
  };
};

// The main thread's side of the thread that writes small mails, see spool-thread.ts. It starts with the first of them.
import {Worker} from 'node:worker_threads';
import {createBatch} from '../services/batch.ts';
import type {Placed, PlaceOrder, SpoolFolders} from './spool-thread.ts';

export interface SpoolWriter {
  /** Resolves with the SHA-256 of `mail` once bytes, name and folder are on stable storage. Rejects, leaving nothing behind. */
  place(queueId: string, facts: Buffer, mail: readonly Buffer[]): Promise<string>;
}

interface Waiting {
  resolve(sha256: string): void;
  reject(error: Error): void;
}

/** Beside this file, in the language that it is in. */
const threadFile = new URL(`./spool-thread${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url);

export const createSpoolWriter = (folders: SpoolFolders): SpoolWriter => {
  const waiting = new Map<string, Waiting>();
  let thread: Worker | undefined;

  const settle = (placed: Placed): void => {
    const {resolve, reject} = waiting.get(placed.queueId) ?? {};
    waiting.delete(placed.queueId);
    if ('sha256' in placed) resolve?.(placed.sha256);
    else reject?.(Object.assign(new Error(placed.failure.message), placed.failure));
    // It keeps the process alive only while somebody waits for it.
    if (waiting.size === 0) thread?.unref();
  };

  const start = (): Worker => {
    const started = new Worker(threadFile, {workerData: folders});
    started.on('message', (all: Placed[]) => all.forEach(settle));
    started.on('error', error => {
      if (thread === started) thread = undefined;
      for (const queueId of [...waiting.keys()])
        settle({queueId, failure: {message: `the thread of the spool ended: ${error.message}`}});
    });
    return started;
  };

  const send = createBatch<PlaceOrder>(async orders => {
    thread ??= start();
    thread.ref();
    thread.postMessage(
      orders,
      orders.map(({bytes}) => bytes.buffer as ArrayBuffer),
    );
  });

  return {
    place: (queueId, facts, mail) =>
      new Promise((resolve, reject) => {
        waiting.set(queueId, {resolve, reject});
        // Of its own, as it is handed over.
        const bytes = Buffer.allocUnsafeSlow(mail.reduce((sum, {length}) => sum + length, facts.length));
        let at = facts.copy(bytes);
        for (const chunk of mail) at += chunk.copy(bytes, at);
        void send({queueId, bytes, factsBytes: facts.length}).catch(reject);
      }),
  };
};

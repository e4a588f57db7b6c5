// The main thread's side of the thread that writes small mails, see spool-thread.ts. It starts with the first of them.
import {rm} from 'node:fs/promises';
import {join} from 'node:path';
import type {Worker} from 'node:worker_threads';
import {createBatch} from '../../services/batch.ts';
import type {Placed, PlaceOrder, SpoolFolders} from './spool-thread.ts';
import {startSpoolThread} from './start-spool-thread.ts';

export interface SpoolWriter {
  /** Resolves with the SHA-256 of `mail` once bytes, name and folder are on stable storage. Rejects, leaving nothing behind. */
  place(queueId: string, facts: Buffer, mail: readonly Buffer[]): Promise<string>;
}

interface Waiting {
  resolve(sha256: string): void;
  reject(error: Error): void;
  /** Who was told to write it. */
  thread?: Worker;
}

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

  /** What was half done stays nowhere: its sender is told to come again. */
  const giveUp = async (queueId: string, message: string): Promise<void> => {
    await Promise.allSettled([folders.tmp, folders.held].map(async folder => rm(join(folder, queueId), {force: true})));
    settle({queueId, failure: {message}});
  };

  const start = (): Worker => {
    const started = startSpoolThread(folders);
    let why = '';
    started.on('message', (all: Placed[]) => all.forEach(settle));
    started.on('error', error => {
      why = `: ${error.message}`;
    });
    // Whatever ended it, and after all that it has told.
    started.on('exit', () => {
      if (thread === started) thread = undefined;
      for (const [queueId, mail] of waiting)
        if (mail.thread === started) void giveUp(queueId, `the thread of the spool ended${why}`);
    });
    return started;
  };

  const send = createBatch<PlaceOrder>(async orders => {
    thread ??= start();
    thread.ref();
    for (const {queueId} of orders) {
      const mail = waiting.get(queueId);
      if (mail) mail.thread = thread;
    }
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

// Hold backend for mails whose bytes are in Postfix's hold queue.

import {setTimeout as delay} from 'node:timers/promises';
import {Fault} from '../../../shared/fault.ts';
import {createBatch} from '../../services/batch.ts';
import type {StoredHeldMail} from '../../services/quarantine/stored-mail.ts';
import {createSemaphore} from '../../services/semaphore.ts';
import {type HoldBackend, LeftQueue} from '../hold-backend.ts';
import {longIdTime} from './hold-file.ts';
import {readBody} from './postfix-body.ts';
import {type PostfixPrograms, PostfixRefusal, type QueueVerb} from './postfix-programs.ts';

interface Needs {
  programs: PostfixPrograms;
  isArriving(queueId: string): boolean;
  /** `maximal_queue_lifetime`: Postfix bounces an older mail that cannot be delivered at once. */
  lifetimeMs(): Promise<number>;
  tmpDir: string;
  /** Called when Postfix could not be asked to deliver a released mail at once; Postfix delivers it at its next queue run. */
  onNotFlushed(queueId: string, error: unknown): void;
  now: () => number;
}

interface ChangeRequest {
  queueId: string;
  isDone: boolean;
  /** The error because of which it is unknown whether the mail is still on hold. */
  failure?: unknown;
}

/** Postfix handles a batch of this size in a quarter of a second. */
const maxBatch = 1000;
const none: ReadonlySet<string> = new Set();
const flushConcurrency = 4;
/** The helper takes 16 connections at a time and rejects all others (mfd-postfix.socket): reading bodies must leave some free. */
const bodyConcurrency = 8;
const arrivalPauseMs = 100;
const arrivalTries = 20;

export const createPostfixBackend = ({programs, isArriving, lifetimeMs, tmpDir, onNotFlushed, now}: Needs): HoldBackend => {
  const changer = (verb: QueueVerb) =>
    createBatch<ChangeRequest>(async mails => {
      for (let from = 0; from < mails.length; from += maxBatch) {
        const some = mails.slice(from, from + maxBatch);
        const ids = some.map(({queueId}) => queueId);
        // Changes that succeeded are reported, even if others failed.
        const {done, failure} = await programs.change(verb, ids).then(
          done => ({done, failure: undefined}),
          failure => ({done: failure instanceof PostfixRefusal ? failure.done : none, failure}),
        );
        for (const mail of some) Object.assign(mail, {isDone: done.has(mail.queueId), failure});
      }
    });
  const changers = {release: changer('release'), requeue: changer('requeue'), discard: changer('discard')};
  const flushing = createSemaphore(flushConcurrency);
  const reading = createSemaphore(bodyConcurrency);

  /** Rejects with LeftQueue when the mail is not on hold. */
  const change = async (verb: QueueVerb, queueId: string): Promise<void> => {
    for (let tries = arrivalTries; ; tries -= 1) {
      const request: ChangeRequest = {queueId, isDone: false};
      await changers[verb](request);
      if (request.isDone) return;
      if (request.failure !== undefined) throw request.failure;
      if (!isArriving(queueId)) throw new LeftQueue();
      if (tries === 0)
        throw new Fault('unavailable', 'Postfix has not put this mail on hold yet; try again in a minute', {
          retryAfterSeconds: 60,
        });
      await delay(arrivalPauseMs);
    }
  };

  /**
   * Postfix would bounce an old mail at the first delay, as its queue lifetime counts from the creation of its queue file. The
   * queue id gives that time, as a requeued mail keeps its arrival time: judged by that, it would stay old, and a rule that holds
   * it each time would never release it.
   */
  const isOld = async ({queue_id, queued_at, arrived_at}: StoredHeldMail): Promise<boolean> => {
    const seconds = longIdTime(queue_id)?.seconds ?? queued_at;
    const since = seconds === null ? Date.parse(arrived_at) : seconds * 1000;
    return now() - since > (await lifetimeMs()) / 2;
  };

  return {
    isReadableToTheEnd: false,

    async release(mail) {
      // To Postfix a requeued mail is a new one, with its own queue file and id, and is delivered at once.
      const isRequeued = await isOld(mail);
      await change(isRequeued ? 'requeue' : 'release', mail.queue_id);
      if (!isRequeued)
        await flushing.run(async () => programs.flush(mail.queue_id)).catch(error => onNotFlushed(mail.queue_id, error));
      return undefined;
    },

    discard: async mail => change('discard', mail.queue_id),
    forget: async () => {},
    body: async mail => reading.run(async () => readBody(programs, mail.queue_id, tmpDir)),
  };
};

// Postfix's hold queue as part of this node's hold queue: its backend and its poll.
import type {Logger} from 'pino';
import type {HeldMail} from '../../shared/held-mail.ts';
import type {HoldBackend} from '../hold/hold-backend.ts';
import type {OwnHoldQueue} from '../hold/hold-queue.ts';
import {createPostfixHolder} from '../hold/postfix/hold-mail.ts';
import {createPostfixBackend} from '../hold/postfix/postfix-backend.ts';
import {createPostfixPrograms, PostfixRefusal} from '../hold/postfix/postfix-programs.ts';
import {createPostfixAdopt, createPostfixReconcile} from '../hold/postfix/postfix-reconcile.ts';
import {createLifetime, hasLongQueueIds} from '../hold/postfix/postfix-settings.ts';
import type {Base} from './base.ts';
import {watchPostfix} from './dependencies.ts';

/** What the programs of Postfix say has paths of this machine in it. */
const queueUnread = 'its queue could not be read; the log of this node says why';

/** Called for every mail that is added to the list. */
type OnHeld = (mail: HeldMail, domainId: number) => void;

export const openPostfix = (
  {
    storage,
    records,
    metrics,
    dependencies,
    log,
    now,
    ...base
  }: Pick<Base, 'config' | 'storage' | 'records' | 'metrics' | 'dependencies' | 'log' | 'now'>,
  onHeld: OnHeld,
) => {
  const config = base.config.postfix;
  const {store, nodeId} = storage;
  if (config.config_dir === undefined) return undefined;
  watchPostfix({dependencies});

  const programs = createPostfixPrograms({configDir: config.config_dir, helperSocket: config.helper_socket});
  const holder = createPostfixHolder({nodeId, store, onHeld, now});
  const backend = createPostfixBackend({
    programs,
    isArriving: holder.isArriving,
    lifetimeMs: createLifetime(programs, now),
    tmpDir: storage.tmpDir,
    onNotFlushed: (queueId, error) =>
      log.warn(
        {queue_id: queueId, err: error},
        'Postfix could not be asked to deliver a released mail at once; it is delivered at the next queue run',
      ),
    now,
  });
  const refusals = createFailureLog(log);
  const adopt = createPostfixAdopt({
    nodeId,
    store,
    programs,
    domains: records.domainDirectory,
    onHeld,
    onUnreadable: error => refusals.failed(error, 'mails on hold in Postfix are listed without their subjects'),
  });

  /** Polls Postfix's queue, and checks the configuration of Postfix. */
  const createPoll = ({isUnderWay, catchUp}: Pick<OwnHoldQueue, 'isUnderWay' | 'catchUp'>) => {
    const reconcile = createPostfixReconcile({nodeId, store, programs, holder, isUnderWay, adopt, now});
    const polls = createFailureLog(log);
    let isFirst = true;

    const poll: Poll = async signal => {
      try {
        await catchUp();
        if (isFirst) await warnOfShortIds();
        isFirst = false;
        const {pollMs, ...found} = await reconcile(signal);
        polls.worked('Postfix’s queue can be read again');
        metrics.postfixReconciled(now());
        dependencies.worked('postfix');
        if (found.appeared + found.gone.length + found.reopened.length > 0) log.info(found, 'hold queue of Postfix reconciled');
        return pollMs;
      } catch (error) {
        metrics.postfixFailed();
        dependencies.failed('postfix', {detail: queueUnread, isCertain: true});
        polls.failed(error, 'Postfix’s queue could not be read; the list shows its last known state');
        return undefined;
      }
    };
    return createPostfixPoll(poll, now);
  };

  const warnOfShortIds = async (): Promise<void> => {
    if (await hasLongQueueIds(programs)) return;
    log.warn(
      {config_dir: config.config_dir},
      'Postfix reuses queue ids: set enable_long_queue_ids = yes in main.cf and reload it (mfd setup postfix does)',
    );
  };

  return {holder, backend: logged(backend, log), createPoll};
};

/** Callers get a short message, which refers to the log of the node for the reason. */
const logged = (backend: HoldBackend, log: Logger): HoldBackend => {
  const logRefusal = async <T>(queueId: string, work: Promise<T>): Promise<T> =>
    work.catch(error => {
      if (error instanceof PostfixRefusal) log.error({queue_id: queueId, err: error.details.cause}, 'a Postfix command failed');
      throw error;
    });
  return {
    ...backend,
    release: async (mail, onServed) => logRefusal(mail.queue_id, backend.release(mail, onServed)),
    discard: async mail => logRefusal(mail.queue_id, backend.discard?.(mail) ?? Promise.resolve()),
    body: async mail => logRefusal(mail.queue_id, backend.body(mail)),
  };
};

/** An error that repeats every few seconds is logged once. */
const createFailureLog = (log: Logger) => {
  let lastText: string | undefined;
  return {
    failed(error: unknown, message: string) {
      const cause = error instanceof PostfixRefusal ? error.details.cause : error;
      const text = cause instanceof Error ? cause.message : String(cause);
      log[text === lastText ? 'debug' : 'error']({err: cause}, message);
      lastText = text;
    },
    worked(message: string) {
      if (lastText !== undefined) log.info(message);
      lastText = undefined;
    },
  };
};

/** Never rejects. Resolves with how long the queue was read, which is all that counts: results are written once. Undefined after a failure. */
type Poll = (signal: AbortSignal) => Promise<number | undefined>;

/** The part of the time that polling may take. */
const maxShare = 0.2;

const createPostfixPoll = (pollOnce: Poll, now: () => number) => {
  const stopping = new AbortController();
  let underWay: Promise<void> | undefined;
  let last = {at: 0, pauseMs: 0};

  const poll = async (): Promise<void> => {
    const startedAt = now();
    const pollMs = await pollOnce(stopping.signal);
    const at = now();
    last = {at, pauseMs: (pollMs ?? at - startedAt) / maxShare};
  };

  /** If the clock is set back, polling must not stop. */
  const isPausing = (): boolean => now() >= last.at && now() < last.at + last.pauseMs;

  return {
    /** Polls, or waits for the current poll. Never rejects. */
    async run(): Promise<void> {
      if (stopping.signal.aborted || (!underWay && isPausing())) return;
      underWay ??= poll().finally(() => {
        underWay = undefined;
      });
      await underWay;
    },

    /** Aborts the current poll where possible, and waits for it. */
    async stop(): Promise<void> {
      stopping.abort();
      await underWay;
    },
  };
};

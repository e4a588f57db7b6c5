// Retries after 429 and 503. A node that answers so has done nothing, so any request may be repeated.
import {setTimeout as sleep} from 'node:timers/promises';
import {parseDuration} from '../command-line/moment.ts';
import type {Terminal} from '../command-line/terminal.ts';
import {CliError, exitCodes, usageError} from '../errors.ts';

/** Repeats the request until it has an answer, or until waiting makes no sense. */
export type Retry = <T>(ask: () => Promise<T>, signal?: AbortSignal | undefined) => Promise<T>;

interface RetryNeeds {
  /** How long one request may wait in all. */
  budgetMs: number;
  now(): number;
  /** Rejects when `signal` aborts, and when the user interrupts. */
  sleep(ms: number, signal: AbortSignal | undefined): Promise<void>;
  /** Reports that it waits. */
  say(text: string): void;
}

/** The default of `--retry-for`. */
const defaultBudgetMs = 30_000;

export const once: Retry = async ask => ask();

export const createRetry = ({budgetMs, now, sleep, say}: RetryNeeds): Retry => {
  let reportedUntil = 0;
  const report = (error: CliError, waitMs: number): void => {
    const until = now() + waitMs;
    // Of several requests that wait at the same time, only the longest wait is reported.
    if (until > reportedUntil) say(`waiting ${waitMs / 1000} s, as the node asks: ${error.detail} (${error.code})`);
    reportedUntil = Math.max(reportedUntil, until);
  };

  return async (ask, signal) => {
    const startedAt = now();
    for (;;) {
      try {
        return await ask();
      } catch (error) {
        const waitMs = waitBefore(error);
        if (waitMs === undefined) throw error;
        const neededMs = now() - startedAt + waitMs;
        if (neededMs > budgetMs) throw tooLong(error as CliError, waitMs, neededMs);
        // The wait starts before it is reported, so that it can be interrupted from then on.
        const waited = sleep(waitMs, signal);
        report(error as CliError, waitMs);
        await waited;
      }
    }
  };
};

/** A node with such a long Retry-After does not expect another request: it was removed from its cluster. */
export const isForGood = (retryAfterSeconds: number): boolean => retryAfterSeconds >= 3600;

/** Codes of mfd, and of a proxy in front of it. */
const worthWaiting = new Set(['rate_limited', 'unavailable', 'node_unreachable', 'http_429', 'http_503']);

const waitBefore = (error: unknown): number | undefined => {
  if (!(error instanceof CliError) || !worthWaiting.has(error.code)) return undefined;
  const {retryAfterSeconds: seconds} = error;
  return seconds === undefined || isForGood(seconds) ? undefined : Math.max(1, seconds) * 1000;
};

/** The error with a hint on how to wait longer, before the hints that it had. */
const tooLong = (error: CliError, waitMs: number, neededMs: number): CliError => {
  const {hint = ''} = error;
  const ways = [`repeat it in ${waitMs / 1000} s, or let it wait for that: --retry-for ${Math.ceil(neededMs / 1000) + 1}s`];
  const others = hint.split('; ').filter(way => way !== '' && !way.startsWith('repeat it'));
  return error.with({exitCode: exitCodes.unreachable, hint: [...ways, ...others].join('; ')});
};

export interface RetryFlags {
  /** Milliseconds. */
  retryFor?: number;
}

export const retryBudgetMs = ({env}: Pick<Terminal, 'env'>, {retryFor}: RetryFlags): number => {
  if (retryFor !== undefined || !env.MFCTL_RETRY_FOR) return retryFor ?? defaultBudgetMs;
  const budgetMs = parseDuration(env.MFCTL_RETRY_FOR);
  if (budgetMs === undefined)
    throw usageError(
      `MFCTL_RETRY_FOR is ${JSON.stringify(env.MFCTL_RETRY_FOR)}: it must be a duration such as 30s, or 0s for none`,
    );
  return budgetMs;
};

/** Rejects as a CliError when Ctrl-C is pressed, and with the reason of `signal` when that aborts. */
export const sleepUnlessInterrupted = async (terminal: Terminal, ms: number, signal: AbortSignal | undefined): Promise<void> => {
  const interrupt = new AbortController();
  const ignoreInterrupts = terminal.onInterrupt(() => interrupt.abort());
  try {
    await sleep(ms, undefined, {signal: AbortSignal.any([interrupt.signal, ...(signal ? [signal] : [])])});
  } catch (error) {
    if (signal?.aborted) throw signal.reason;
    if (!interrupt.signal.aborted) throw error;
    throw new CliError('interrupted', 'interrupted while waiting: the node has not done it', {exitCode: exitCodes.interrupted});
  } finally {
    ignoreInterrupts();
  }
};

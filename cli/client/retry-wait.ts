// How long a request may wait, and what ends the waiting.
import {setTimeout as sleep} from 'node:timers/promises';
import type {Terminal} from '../command-line/terminal.ts';
import {parseDuration} from '../command-line/time-text.ts';
import {CliError, exitCodes, usageError} from '../errors.ts';
import {usualBudgetMs} from './retry.ts';

export interface RetryFlags {
  /** Milliseconds. */
  retryFor?: number;
}

export const retryBudgetMs = ({env}: Pick<Terminal, 'env'>, {retryFor}: RetryFlags): number => {
  if (retryFor !== undefined || !env.MFCTL_RETRY_FOR) return retryFor ?? usualBudgetMs;
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

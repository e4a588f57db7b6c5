// What ends a command that has no end of its own.

import type {Terminal} from '../command-line/terminal.ts';
import {CliError, ExitStatus, exitCodes} from '../errors.ts';

export interface Watching {
  /** Aborts when it is over. */
  signal: AbortSignal;
  /** It is over: there is nothing more to show. */
  stop(): void;
}

export interface WatchEnd {
  /** How long it goes on. */
  for?: number | undefined;
  /** Of lines. Both together wait for so many, and the time may be up first. */
  limit?: number | undefined;
}

/** A timer that is set to more than this goes off at once. */
const maxTimerMs = 2 ** 31 - 1;

/**
 * Runs `work` until it is done, the time is up (a CliError when so many were waited for), Ctrl-C is pressed (which rejects with an ExitStatus), or nobody reads
 * standard output any more, as with `| head`. What `work` throws once it is over counts for nothing.
 */
export const keepWatching = async (
  terminal: Terminal,
  {for: forMs, limit}: WatchEnd,
  work: (watching: Watching) => Promise<void>,
): Promise<void> => {
  const end = new AbortController();
  const stop = (): void => end.abort();
  let isInterrupted = false;
  let isTimeUp = false;
  const ignoreInterrupts = terminal.onInterrupt(() => {
    isInterrupted = true;
    stop();
  });
  const endOfTime = (): void => {
    isTimeUp = !end.signal.aborted;
    stop();
  };
  const timer = forMs === undefined ? undefined : setTimeout(endOfTime, Math.min(forMs, maxTimerMs));
  terminal.stdout.on('error', stop);

  try {
    await work({signal: end.signal, stop});
  } catch (error) {
    if (!end.signal.aborted) throw error;
  } finally {
    clearTimeout(timer);
    terminal.stdout.off('error', stop);
    ignoreInterrupts();
    stop();
  }
  if (isTimeUp && limit !== undefined)
    throw new CliError('timed_out', 'the time of --for is up, and fewer lines than --limit have come', {
      exitCode: exitCodes.cancelled,
    });
  if (!isInterrupted) return;
  // Behind the ^C that the terminal shows.
  if (terminal.stderr.isTTY) terminal.stderr.write('\n');
  throw new ExitStatus(exitCodes.interrupted);
};

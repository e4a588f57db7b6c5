// Run of a command that watches a node: how it ends, and its messages about a node that stops answering.
import type {Command} from 'commander';
import {durationMs} from '../command-line/moment.ts';
import {countOfAtLeastOne} from '../command-line/option-values.ts';
import type {Terminal} from '../command-line/terminal.ts';
import {CliError, ExitStatus, exitCodes} from '../errors.ts';
import {timeText} from './cell-text.ts';
import type {Printer} from './printer.ts';

interface Watching {
  /** Aborts when the watch ends. */
  signal: AbortSignal;
  /** To be called after each line: the watch ends with the last one. */
  countLine(): void;
}

export interface WatchEnd {
  /** How long to watch. */
  for?: number | undefined;
  /** Number of lines. With both, the watch waits for so many lines, and fails when the time is up first. */
  limit?: number | undefined;
}

/** `lines` names what is counted. */
export const addEndOptions = (command: Command, lines = 'lines'): Command =>
  command
    .option(
      '--limit <number>',
      `stop after this many ${lines}; with --for, the exit status is 3 if fewer came`,
      countOfAtLeastOne,
    )
    .option('--for <duration>', 'end after this time, such as 30s or 10m', durationMs);

/** A timer with a longer delay fires at once. */
const maxTimerMs = 2 ** 31 - 1;

/**
 * Runs `work` until it is done, the time is up (a CliError when lines were awaited), Ctrl-C is pressed (which rejects with an ExitStatus), or
 * standard output is closed, as by `| head`. Errors that `work` throws after the end are ignored.
 */
export const keepWatching = async (
  terminal: Terminal,
  {for: forMs, limit}: WatchEnd,
  work: (watching: Watching) => Promise<void>,
): Promise<void> => {
  const end = new AbortController();
  const stop = (): void => end.abort();
  let lines = 0;
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
    await work({
      signal: end.signal,
      countLine: () => {
        lines += 1;
        if (lines === limit) stop();
      },
    });
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
  // After the ^C that the terminal shows.
  if (terminal.stderr.isTTY) terminal.stderr.write('\n');
  throw new ExitStatus(exitCodes.interrupted);
};

/** Reports once that the node does not answer, and once that it answers again. */
interface Contact {
  /** The node does not answer. Throws when it never has, as the address or key is most likely wrong then. */
  lost(error: CliError | undefined): void;
  /** The node answers. */
  found(): void;
}

/** `whatWasMissed` is printed when the node answers again. */
export const createContact = (printer: Pick<Printer, 'warn' | 'note'>, whatWasMissed: string | (() => string)): Contact => {
  let hasAnswered = false;
  let lostAt: string | undefined;

  return {
    lost(error = new CliError('ended', 'the node has ended the connection', {exitCode: exitCodes.unreachable})) {
      if (!hasAnswered) throw error;
      if (lostAt !== undefined) return;
      lostAt = now();
      printer.warn(`no answer since ${lostAt}: ${error.detail}; retrying`);
    },
    found() {
      hasAnswered = true;
      if (lostAt === undefined) return;
      printer.note(`answers again at ${now()}; ${typeof whatWasMissed === 'string' ? whatWasMissed : whatWasMissed()}`);
      lostAt = undefined;
    },
  };
};

const now = (): string => timeText(new Date().toISOString()) ?? '';

// Commands that watch a node until somebody ends them: what ends them, and what they say of a node that goes away meanwhile.
import type {Terminal} from '../command-line/terminal.ts';
import {CliError, ExitStatus, exitCodes} from '../errors.ts';
import {timeText} from './cell-text.ts';
import type {Printer} from './printer.ts';

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

/** Said once when the node goes away, and once when it is back. */
export interface Contact {
  /** It does not answer. Throws when it never has: then there is nothing to wait for, and most likely something to correct. */
  lost(error: CliError | undefined): void;
  /** It answers. */
  found(): void;
}

/** `whatWasMissed` is said when the node is back. */
export const createContact = (printer: Pick<Printer, 'warn' | 'note'>, whatWasMissed: string): Contact => {
  let hasAnswered = false;
  let lostAt: string | undefined;

  return {
    lost(error = new CliError('ended', 'the node has ended the connection', {exitCode: exitCodes.unreachable})) {
      if (!hasAnswered) throw error;
      if (lostAt !== undefined) return;
      lostAt = now();
      printer.warn(`no answer since ${lostAt}: ${error.detail}; trying on`);
    },
    found() {
      hasAnswered = true;
      if (lostAt === undefined) return;
      printer.note(`answers again at ${now()}; ${whatWasMissed}`);
      lostAt = undefined;
    },
  };
};

const now = (): string => timeText(new Date().toISOString()) ?? '';

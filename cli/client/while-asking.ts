import {CliError, exitCodes} from '../errors.ts';

/**
 * Asks with a signal that aborts when one of `sources` does, and after `withinMs`, but not once the answer is there.
 * `AbortSignal.any` would leave something in a source that lives long for each request.
 */
export const whileAsking = async <T>(
  sources: readonly (AbortSignal | undefined)[],
  withinMs: number | undefined,
  ask: (signal: AbortSignal) => Promise<T>,
): Promise<T> => {
  const asking = new AbortController();
  const abort = (): void => asking.abort(sources.find(source => source?.aborted)?.reason);
  if (sources.some(source => source?.aborted)) abort();
  for (const source of sources) source?.addEventListener('abort', abort);
  const timer = withinMs === undefined ? undefined : setTimeout(() => asking.abort(noAnswer(withinMs)), withinMs);
  try {
    return await ask(asking.signal);
  } finally {
    clearTimeout(timer);
    for (const source of sources) source?.removeEventListener('abort', abort);
  }
};

const noAnswer = (withinMs: number): CliError =>
  new CliError('timeout', `no answer within ${withinMs / 1000} s`, {
    exitCode: exitCodes.unreachable,
    hint: 'repeat it: no request acts twice',
  });

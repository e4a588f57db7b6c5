import {CliError, exitCodes} from '../errors.ts';
import type {Answer, Client, Request} from './client.ts';

/** Rejects with a CliError when the answer is not there within `withinMs`, and with the reason of `request.signal` when that aborts. */
export const sendWithin = async <T>(client: Pick<Client, 'send'>, request: Request, withinMs: number): Promise<Answer<T>> => {
  const end = new AbortController();
  const timer = setTimeout(() => end.abort(noAnswer(withinMs)), withinMs);
  try {
    const signal = request.signal ? AbortSignal.any([request.signal, end.signal]) : end.signal;
    return await client.send<T>({...request, signal});
  } finally {
    clearTimeout(timer);
  }
};

export const noAnswer = (withinMs: number): CliError =>
  new CliError('timeout', `no answer within ${withinMs / 1000} s`, {
    exitCode: exitCodes.unreachable,
    hint: 'repeat it: no request acts twice',
  });

// Transport whose requests a signal ends, for what must not keep the program running.
import type {Request, Transport} from './transport.ts';

export interface EndingOptions {
  /** When it aborts, requests that are under way reject with its reason; a download that has begun goes on. */
  end?: AbortSignal | undefined;
  /** How long a node may say nothing before a read fails, in place of 90 s. */
  readSilenceMs?: number | undefined;
}

export const endingTransport = (transport: Transport, {end, readSilenceMs}: EndingOptions): Transport => {
  if (!end) return transport;
  const {send, raw, download, events} = transport;
  return {
    send: <T>(request: Request) =>
      endedBy(end, request.signal, signal => send<T>({...(isRead(request) && {silenceMs: readSilenceMs}), ...request, signal})),
    raw: request => endedBy(end, request.signal, signal => raw({...request, signal})),
    download: (path, given) => endedBy(end, given, signal => download(path, signal)),
    events,
  };
};

/** `AbortSignal.any` would leave something in `end` for each request, for as long as `end` lives. */
const endedBy = async <T>(
  end: AbortSignal,
  given: AbortSignal | undefined,
  ask: (signal: AbortSignal) => Promise<T>,
): Promise<T> => {
  const either = new AbortController();
  const sources = given ? [end, given] : [end];
  const abort = (): void => either.abort(sources.find(({aborted}) => aborted)?.reason);
  if (sources.some(({aborted}) => aborted)) abort();
  for (const source of sources) source.addEventListener('abort', abort);
  try {
    return await ask(either.signal);
  } finally {
    for (const source of sources) source.removeEventListener('abort', abort);
  }
};

const isRead = ({method = 'GET'}: Request): boolean => method === 'GET';

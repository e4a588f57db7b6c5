// Requests of the screens: what they read is given up soon when the node says nothing, and nothing that a screen has asked for keeps
// the program from ending when the screen is left.
import {type Client, clientOver, type Request} from '../../client/client.ts';

/** A line that was cut says nothing, and what is on the screen is old then. A list of many nodes takes 3 s. */
const readMs = 10_000;

/** The same client, whose requests are given up when `end` aborts. A download that has begun goes on. */
export const endingClient = (client: Client, end: AbortSignal): Client => {
  /** By hand: what `AbortSignal.any` makes would be remembered by `end` for as long as that is there. */
  const until = async <T>(signal: AbortSignal | undefined, ask: (signal: AbortSignal) => Promise<T>): Promise<T> => {
    const either = new AbortController();
    const sources = signal ? [end, signal] : [end];
    const abort = (): void => either.abort(sources.find(({aborted}) => aborted)?.reason);
    if (sources.some(({aborted}) => aborted)) abort();
    for (const source of sources) source.addEventListener('abort', abort);
    try {
      return await ask(either.signal);
    } finally {
      for (const source of sources) source.removeEventListener('abort', abort);
    }
  };
  return clientOver({
    ...client,
    send: <T>(request: Request) =>
      until(request.signal, signal => client.send<T>({...(isRead(request) && {silenceMs: readMs}), ...request, signal})),
    raw: request => until(request.signal, signal => client.raw({...request, signal})),
    download: (path, given) => until(given, signal => client.download(path, signal)),
  });
};

const isRead = ({method = 'GET'}: Request): boolean => method === 'GET';

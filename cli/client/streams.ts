// Streamed answers: mail and events. Their HTTP library is loaded when it is first needed.
import {once} from 'node:events';
import type {Got, Request, RequestError, Response} from 'got';
import type {ClusterEvent} from '../../shared/cluster-event.ts';
import {CliError} from '../errors.ts';
import {createEventParser} from './event-parser.ts';
import type {Incoming} from './exchange.ts';
import {answerFailure, connectionFailure} from './request-failure.ts';
import {trusting} from './trust.ts';

export interface Streams {
  /** See `Transport`. */
  download(url: URL, signal: AbortSignal | undefined): Promise<AsyncIterable<Buffer>>;
  events(url: URL, signal: AbortSignal): Promise<AsyncIterable<ClusterEvent>>;
}

interface StreamNeeds {
  headers: Record<string, string>;
  /** PEM; undefined trusts what Node trusts. */
  ca: string | undefined;
  /** Of the certificate that a person trusted. */
  fingerprint: string | undefined;
  /** Called with each answer once it has begun. */
  note(method: string, url: URL, answer: Omit<Incoming, 'body'>): void;
}

export const createStreams = ({headers, ca, fingerprint, note}: StreamNeeds): Streams => {
  const open = async () => {
    const {got} = await import('got');
    const trust = trusting(ca);
    return got.extend({
      // The caller decides about retries, and a key must not follow a redirect to another host.
      retry: {limit: 0},
      followRedirect: false,
      throwHttpErrors: false,
      timeout: {lookup: 5000, connect: 5000, secureConnect: 10_000, response: 90_000, socket: 90_000},
      headers,
      https: {...(trust.ca !== undefined && {certificateAuthority: trust.ca})},
      ...(fingerprint !== undefined && (await pinning(fingerprint))),
    });
  };

  return {
    download: async (url, signal) => {
      const stream = (await open()).stream(url);
      const abort = (): void => void stream.destroy(new Error('given up'));
      signal?.addEventListener('abort', abort);
      const response = await new Promise<Response>((resolve, reject) => {
        stream.once('response', resolve);
        stream.once('error', reject);
      })
        .catch(error => {
          throw signal?.aborted ? signal.reason : connectionFailure(error, url);
        })
        .finally(() => signal?.removeEventListener('abort', abort));
      note('GET', url, streamed(response));
      const {statusCode: status, headers} = response;
      if (status >= 200 && status <= 299) return read(stream, url);

      throw answerFailure({status, headers, body: await bodyOf(read(stream, url)), url});
    },

    events: async (url, signal) => {
      if (signal.aborted) return nothing();
      const onResponse = (response: Response): void => note('GET', url, streamed(response));
      return openEventStream({http: await open(), url, signal, onResponse});
    },
  };
};

/**
 * Trusts the certificate that a person trusted, of whatever kind; when the server shows another one, the error names the
 * expected fingerprint. This is decided in the handshake, before any key is sent.
 */
const pinning = async (fingerprint: string) => {
  const {Agent} = await import('node:https');
  return {
    agent: {https: new Agent({keepAlive: true, allowPartialTrustChain: true})},
    hooks: {beforeError: [(error: RequestError) => Object.assign(error, {trusted: fingerprint})]},
  };
};

async function* read(stream: AsyncIterable<Buffer>, url: URL): AsyncIterable<Buffer> {
  try {
    yield* stream;
  } catch (error) {
    throw connectionFailure(error, url);
  }
}

const streamed = ({statusCode: status, headers, timings: {phases, response, start}}: Response): Omit<Incoming, 'body'> => ({
  status,
  headers,
  ms: phases.total ?? (response ?? Date.now()) - start,
});

interface EventStreamNeeds {
  http: Got;
  url: URL;
  signal: AbortSignal;
  onResponse(response: Response): void;
}

/** The node answers at once; only the events after that take time. */
const answerMs = 10_000;
/** Nodes before 0.5 ping every 15 s and do not send the interval. */
const defaultSilenceMs = 45_000;

/** One ping may be late or lost: two intervals, and a margin for latency. */
const silenceMsOf = ({headers}: Pick<Response, 'headers'>): number => {
  const seconds = Number(headers['x-ping-interval']);
  return seconds >= 1 && seconds <= 15 ? (2 * seconds + 2) * 1000 : defaultSilenceMs;
};

/**
 * Resolves once the node has begun to answer: events from then on are delivered. Ends when the connection does, and silently
 * when `signal` aborts. Rejects, or throws while it is read, with a CliError when the node refuses or the connection breaks.
 */
const openEventStream = async ({http, url, signal, onResponse}: EventStreamNeeds): Promise<AsyncIterable<ClusterEvent>> => {
  const stream = http.stream(url, {headers: {accept: 'text/event-stream'}, timeout: {response: answerMs}});
  const abort = () => void stream.destroy();
  signal.addEventListener('abort', abort);
  stream.once('close', () => signal.removeEventListener('abort', abort));
  // An error while nobody reads is thrown by the next read.
  stream.on('error', () => undefined);

  let silenceMs = defaultSilenceMs;
  try {
    const [response] = (await once(stream, 'response', {signal})) as [Response];
    onResponse(response);
    silenceMs = silenceMsOf(response);
    const {statusCode: status, headers} = response;
    if (status < 200 || status > 299) throw answerFailure({status, headers, body: await bodyOf(stream), url});
    if (!headers['content-type']?.startsWith('text/event-stream')) throw noEvents(url);
  } catch (error) {
    stream.destroy();
    if (signal.aborted) return nothing();
    throw error instanceof CliError ? error : connectionFailure(error, url);
  }
  return eventsOf(untilSilent(stream, silenceMs), url, signal);
};

async function* eventsOf(stream: AsyncIterable<Buffer>, url: URL, signal: AbortSignal): AsyncIterable<ClusterEvent> {
  const parser = createEventParser();
  try {
    for await (const chunk of stream) {
      for (const event of parser.push(chunk)) {
        if (signal.aborted) return;
        yield event;
      }
    }
  } catch (error) {
    if (!signal.aborted) throw connectionFailure(error, url);
  }
}

/** Fails with `ETIMEDOUT` when nothing arrives for `silenceMs`. The time that the reader takes for a chunk does not count. */
async function* untilSilent(stream: Request, silenceMs: number): AsyncIterable<Buffer> {
  const chunks = stream[Symbol.asyncIterator]();
  const tooLate = () => stream.destroy(Object.assign(new Error('silent'), {code: 'ETIMEDOUT'}));
  try {
    for (;;) {
      const timer = setTimeout(tooLate, silenceMs);
      const {done, value} = await chunks.next().finally(() => clearTimeout(timer));
      if (done) return;
      yield value as Buffer;
    }
  } finally {
    stream.destroy();
  }
}

async function* nothing(): AsyncIterable<never> {}

const maxBodyBytes = 64 * 1024;

/** The body of an error answer, up to `maxBodyBytes`. */
const bodyOf = async (stream: AsyncIterable<Buffer>): Promise<Buffer> => {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stream) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes > maxBodyBytes) break;
  }
  return Buffer.concat(chunks);
};

const noEvents = (url: URL): CliError =>
  new CliError('unexpected_answer', `${url.origin} answered, but not as mfd does`, {
    hint: 'check the address: mfctl context list',
  });

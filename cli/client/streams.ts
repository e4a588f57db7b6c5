// Answers that are read as they arrive: mail and events. Their HTTP library is loaded when it is first needed.
import type {RequestError, Response} from 'got';
import type {ClusterEvent} from '../../shared/cluster-event.ts';
import type {EventType} from '../../shared/event-type.ts';
import {bodyOf, openEventStream} from './event-stream.ts';
import type {Incoming} from './exchange.ts';
import {answerFailure, connectionFailure} from './request-failure.ts';
import {requestUrl} from './request-line.ts';
import {trusting} from './trust.ts';

export interface Streams {
  /** See the client. */
  download(baseUrl: URL, path: string, signal: AbortSignal | undefined): Promise<AsyncIterable<Buffer>>;
  events(baseUrl: URL, types: readonly EventType[], signal: AbortSignal): Promise<AsyncIterable<ClusterEvent>>;
}

export interface StreamNeeds {
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
      // The caller decides about repeating; and a key follows no redirect to somewhere else.
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
    download: async (baseUrl, path, signal) => {
      const url = requestUrl(baseUrl, {path});
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

    events: async (baseUrl, types, signal) => {
      const url = requestUrl(baseUrl, {path: 'events', query: {type: types.length > 0 ? types.join(',') : undefined}});
      return openEventStream({
        http: await open(),
        url,
        signal,
        onResponse: response => note('GET', url, streamed(response)),
      });
    },
  };
};

/**
 * What a person trusted counts, whatever kind of certificate it is; and when another one is shown, the error says whose it is
 * not. All of that is decided in the handshake: no key has been sent then.
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

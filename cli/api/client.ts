// The API over HTTPS. Loaded when a command first needs it: the help must not wait for an HTTP library.
import type {IncomingHttpHeaders} from 'node:http';
import type {RequestError, Response} from 'got';
import type {ClusterEvent} from '../../shared/cluster-event.ts';
import type {Envelope} from '../../shared/envelope.ts';
import type {EventType} from '../../shared/event-type.ts';
import {CliError, usageError} from '../cli-error.ts';
import type {Connection} from './connection.ts';
import {bodyOf, openEventStream} from './event-stream.ts';
import {createExchange, type Incoming, TooLongAnswer} from './exchange.ts';
import {answerFailure, connectionFailure} from './request-failure.ts';
import {once, type Retry} from './retry.ts';
import {trusting} from './trust.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

export interface Request {
  method?: Method;
  /** Below `/api/v1/`. */
  path: string;
  /** Members that are undefined are left out. */
  query?: Record<string, string | number | boolean | undefined> | undefined;
  /** Sent as JSON. */
  json?: unknown;
  /** Sent as it is, in place of `json`. */
  body?: string | undefined;
  headers?: Record<string, string>;
  /** When it aborts, the request is given up and rejects with its reason. */
  signal?: AbortSignal | undefined;
}

export interface Answer<T> {
  data: T;
  etag: string | undefined;
  /** Of a list: all matches, not only this page. */
  totalCount: number | undefined;
  unreachableNodes: string[];
}

/** An answer as it came: status 2xx, whatever its type. */
export interface RawAnswer {
  body: Buffer;
  contentType: string;
  headers: IncomingHttpHeaders;
}

export interface Client {
  /** Rejects with a CliError for everything but success. */
  send<T>(request: Request): Promise<Answer<T>>;
  sendRaw(request: Request): Promise<RawAnswer>;
  /**
   * Resolves once the answer has begun and is a success; reading on may still reject with a CliError. When `signal` aborts
   * before that, it rejects with its reason.
   */
  download(path: string, signal?: AbortSignal): Promise<AsyncIterable<Buffer>>;
  /**
   * What happens in the cluster from the moment this resolves, over one connection: it ends when that does, and when `signal`
   * aborts. No types are all that the key may see. Rejects, or throws while it is read, with a CliError when the node refuses
   * or the connection breaks. `followEvents` connects again.
   */
  events(types: readonly EventType[], signal: AbortSignal): Promise<AsyncIterable<ClusterEvent>>;
}

export interface ClientNeeds {
  connection: Connection;
  version: string;
  /** One line about each request. */
  log: (line: string) => void;
  /** What becomes of a request that the node has no time for; without it, it fails. Streams and downloads are not repeated. */
  retry?: Retry;
}

export const createClient = async ({connection, version, log, retry = once}: ClientNeeds): Promise<Client> => {
  const {baseUrl, apiKey, ca, fingerprint} = connection;
  const trust = {...trusting(ca), ...(fingerprint !== undefined && {allowPartialTrustChain: true})};
  const headers = {
    'user-agent': `mfctl/${version}`,
    accept: 'application/json, */*',
    ...(apiKey !== undefined && {'x-api-key': apiKey}),
  };
  const exchange = await createExchange(trust);
  /** For what is read as it comes. */
  const streaming = async () => {
    const {got} = await import('got');
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

  const perform = async (url: URL, {method = 'GET', json, body, headers: more, signal}: Request): Promise<Incoming> => {
    const text = body ?? (json === undefined ? undefined : JSON.stringify(json));
    const type = text !== undefined && {'content-type': 'application/json'};
    if (signal?.aborted) throw signal.reason;
    try {
      return await exchange(url, {method, headers: {...headers, ...type, ...more}, body: text, signal});
    } catch (error) {
      if (signal?.aborted) throw signal.reason;
      if (error instanceof TooLongAnswer) throw unexpectedAnswer(url.origin);
      // Said of it when it is not trusted.
      throw connectionFailure(fingerprint === undefined ? error : Object.assign(error as Error, {trusted: fingerprint}), url);
    }
  };

  const attempt = async (request: Request): Promise<RawAnswer> => {
    const url = requestUrl(baseUrl, request);
    const answer = await perform(url, request);
    log(describe(request.method ?? 'GET', url, answer));
    const {body, headers: received, status} = answer;
    if (status < 200 || status > 299) throw answerFailure({status, headers: received, body, url});
    return {body, headers: received, contentType: received['content-type'] ?? ''};
  };

  const sendRaw = (request: Request): Promise<RawAnswer> => retry(() => attempt(request), request.signal);

  return {
    sendRaw,

    send: async <T>(request: Request) => {
      const {body, headers} = await sendRaw(request);
      const {data} = parseEnvelope<T>(body, baseUrl);
      const total = /^\d{1,15}$/.test(String(headers['x-total-count'])) ? Number(headers['x-total-count']) : undefined;
      return {
        data,
        etag: headers.etag,
        totalCount: total,
        unreachableNodes: listOf(headers['x-unreachable-nodes']),
      };
    },

    download: async (path, signal) => {
      const url = requestUrl(baseUrl, {path});
      const stream = (await streaming()).stream(url);
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
      log(describe('GET', url, streamed(response)));
      const {statusCode: status, headers} = response;
      if (status >= 200 && status <= 299) return read(stream, url);

      throw answerFailure({status, headers, body: await bodyOf(read(stream, url)), url});
    },

    events: async (types, signal) => {
      const url = requestUrl(baseUrl, {path: 'events', query: {type: types.length > 0 ? types.join(',') : undefined}});
      return openEventStream({
        http: await streaming(),
        url,
        signal,
        onResponse: response => log(describe('GET', url, streamed(response))),
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

/** `api` takes a path from the command line: it must not lead the key to another host or out of the API. */
const requestUrl = (baseUrl: URL, {path, query = {}}: Request): URL => {
  const url = new URL(baseUrl.href + path.replace(/^\/+/, ''));
  if (url.origin !== baseUrl.origin || !url.pathname.startsWith(baseUrl.pathname))
    throw usageError(`${JSON.stringify(path)} leads out of ${baseUrl.pathname}`);
  for (const [name, value] of Object.entries(query)) if (value !== undefined) url.searchParams.set(name, String(value));
  return url;
};

const parseEnvelope = <T>(body: Buffer, baseUrl: URL): Envelope<T> => {
  try {
    const envelope: unknown = JSON.parse(body.toString('utf8'));
    if (typeof envelope === 'object' && envelope !== null && 'data' in envelope) return envelope as Envelope<T>;
  } catch {}
  throw unexpectedAnswer(baseUrl.origin);
};

const unexpectedAnswer = (origin: string): CliError =>
  new CliError('unexpected_answer', `${origin} answered, but not as mfd does`, {hint: 'check the address: mfctl context list'});

const describe = (method: string, url: URL, {status, headers, ms}: Omit<Incoming, 'body'>): string =>
  `${method} ${url.pathname}${url.search} ${status} ${Math.round(ms)} ms, request ${headers['x-request-id'] ?? '-'}`;

const streamed = ({statusCode: status, headers, timings: {phases, response, start}}: Response): Omit<Incoming, 'body'> => ({
  status,
  headers,
  ms: phases.total ?? (response ?? Date.now()) - start,
});

const listOf = (header: string | string[] | undefined): string[] =>
  [header ?? []]
    .flat()
    .join(',')
    .split(',')
    .map(name => name.trim())
    .filter(name => name !== '');

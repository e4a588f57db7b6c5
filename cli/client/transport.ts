// Requests to the API over HTTPS: authentication, TLS, other addresses, retries, errors. The client has a method for each endpoint on top of it.

import type {IncomingMessage} from 'node:http';
import type {StreamEvent} from '../../shared/cluster-event.ts';
import type {StreamType} from '../../shared/event-type.ts';
import {readUpTo} from '../command-line/read-up-to.ts';
import {CliError, exitCodes, usageError} from '../errors.ts';
import {type Attempt, createAddresses, type Move} from './addresses.ts';
import {type Answer, type Answered, answerOf, deprecationIn, type RawAnswer, unexpectedAnswer} from './answer.ts';
import type {Connection} from './connection.ts';
import {eventsOf, type StreamPlace} from './event-stream.ts';
import {chunksOf, createExchange, TooLongAnswer, wholeBodyOf} from './exchange.ts';
import {answerFailure, connectionFailure, type FailedAnswer} from './request-failure.ts';
import {once, type Retry} from './retry.ts';
import {trusting} from './trust.ts';

export type {Answer};
export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** Query parameters. Members that are undefined are left out. */
export type Query = Record<string, string | number | boolean | undefined>;

export interface RequestOptions {
  /** When it aborts, the request is cancelled and rejects with its reason. */
  signal?: AbortSignal | undefined;
  /** After so long without data the node counts as not answering: 90 s by default. */
  silenceMs?: number | undefined;
  /** How long the answer may take, with retries and other addresses; then the request rejects with a CliError. */
  withinMs?: number | undefined;
}

export interface Request extends RequestOptions {
  method?: Method;
  /** Below `/api/v1/`. */
  path: string;
  query?: Query | undefined;
  /** Sent as JSON. */
  json?: unknown;
  /** Sent as it is, in place of `json`. */
  body?: string | undefined;
  headers?: Record<string, string>;
}

export interface Transport {
  /** Rejects with a CliError for everything but success. */
  send<T>(request: Request): Promise<Answer<T>>;
  /** As `send`, for a request that a person typed: the answer is not parsed, and errors keep the words of the API. */
  raw(request: Request): Promise<RawAnswer>;
  /**
   * Resolves once the answer has begun and is a success; reading on may still reject with a CliError. When `signal` aborts
   * before that, it rejects with its reason.
   */
  download(path: string, signal?: AbortSignal): Promise<AsyncIterable<Buffer>>;
  /**
   * Events from the moment this resolves, over one connection: the stream ends when the connection does, and when `signal`
   * aborts. No types means the usual ones that the key may see. `place` is where the stream goes on, and is kept up to date. Rejects, or
   * throws while it is read, with a CliError when the node refuses or the connection breaks. `followEvents` connects again.
   */
  events({types, after, place}: EventsWish, signal: AbortSignal): Promise<AsyncIterable<StreamEvent>>;
}

export interface EventsWish {
  types?: readonly StreamType[];
  /** The id of an event or a time at which the first stream begins; nodes of 0.8 refuse it. */
  after?: string | undefined;
  place?: StreamPlace;
}

export interface TransportOptions {
  connection: Connection;
  version: string;
  /** Gets one line for each request. */
  log: (line: string) => void;
  /** Gets half a sentence about a deprecated feature that a request has used. */
  onDeprecated?: ((text: string) => void) | undefined;
  /** Retries when the node asks for time; without it the request fails. Streams and downloads are not repeated. */
  retry?: Retry;
  /** Called when requests move to another node. */
  onMove?: (move: Move) => void;
  /** When it aborts, requests that are under way reject with its reason; a stream that has begun goes on. */
  end?: AbortSignal | undefined;
  /** How long a node may say nothing before a read fails, in place of 90 s. */
  readSilenceMs?: number | undefined;
}

export const createTransport = async (needs: TransportOptions): Promise<Transport> => {
  const {connection, retry = once, onMove = () => undefined, end, readSilenceMs} = needs;
  const {baseUrl, others = []} = connection;
  const addresses = createAddresses([baseUrl, ...others], onMove);
  const note = createNote(needs);
  const begin = await createBegin(needs);

  const attempt = async (request: Request, at: Attempt, words?: FailedAnswer['words']): Promise<Answered> => {
    const begun = await begin(request, at);
    const {url, startedAt, response} = begun;
    const body = await orFailure(request, begun, wholeBodyOf(response, startedAt, request.silenceMs));
    note(begun);
    const {statusCode: status = 0, headers} = response;
    if (!isSuccess(status)) throw answerFailure({status, headers, body, url, ...(words && {words})});
    return {body, headers, contentType: headers['content-type'] ?? '', origin: url.origin};
  };

  const ask = (request: Request, words?: FailedAnswer['words']): Promise<Answered> =>
    whileAsking([end, request.signal], request.withinMs, signal => {
      const options = {isRepeatable: isRepeatable(request), signal};
      return retry(() => addresses.ask(at => attempt({...request, signal}, at, words), options), signal);
    });

  /** Resolves once the answer has begun and is a success. */
  const stream = (request: Request, {signal}: RequestOptions): Promise<Begun> =>
    addresses.ask(
      async at => {
        const begun = await begin({...request, signal}, at);
        note(begun);
        const {url, response} = begun;
        const {statusCode: status = 0, headers} = response;
        if (isSuccess(status)) return begun;
        const body = await orFailure({signal}, begun, readUpTo(chunksOf(response), maxErrorBytes));
        throw answerFailure({status, headers, body, url});
      },
      {isRepeatable: true, signal},
    );

  return {
    raw: request => ask(request, detail => detail),
    send: async <T>(request: Request) =>
      answerOf<T>(await ask(isRead(request) ? {silenceMs: readSilenceMs, ...request} : request)),
    download: async (path, given) => {
      const begun = await whileAsking([end, given], undefined, signal => stream({path}, {signal}));
      return failingAsRequest(begun, chunksOf(begun.response));
    },
    events: async ({types = [], after, place = {id: undefined}}, signal) => {
      const query = {type: types.length > 0 ? types.join(',') : undefined, after};
      const headers = {accept: 'text/event-stream', ...(place.id !== undefined && {'last-event-id': place.id})};
      try {
        const begun = await stream({path: 'events', query, headers, silenceMs: eventsAnswerMs}, {signal});
        if (!begun.response.headers['content-type']?.startsWith('text/event-stream')) {
          begun.response.destroy();
          throw unexpectedAnswer(begun.url.origin);
        }
        return failingAsRequest(begun, eventsOf(begun.response, signal, place));
      } catch (error) {
        if (signal.aborted) return nothing();
        throw error;
      }
    },
  };
};

/** The node answers at once; only the events after that take time. */
const eventsAnswerMs = 10_000;
const maxErrorBytes = 64 * 1024;

const isSuccess = (status: number): boolean => status >= 200 && status <= 299;

async function* nothing(): AsyncIterable<never> {}

const headersOf = ({connection: {apiKey}, version}: TransportOptions): Record<string, string> => ({
  'user-agent': `mfctl/${version}`,
  accept: 'application/json, */*',
  ...(apiKey !== undefined && {'x-api-key': apiKey}),
});

/** An answer that has begun. */
interface Begun {
  method: string;
  url: URL;
  /** As `performance.now()` has it. */
  startedAt: number;
  response: IncomingMessage;
  /** The error of mfctl for an error of Node. */
  failureOf(error: unknown): CliError;
}

const createNote =
  ({connection: {baseUrl}, log, onDeprecated}: TransportOptions) =>
  ({method, url, startedAt, response: {statusCode, headers}}: Begun): void => {
    const ms = Math.round(performance.now() - startedAt);
    log(`${method} ${url.pathname}${url.search} ${statusCode} ${ms} ms, request ${headers['x-request-id'] ?? '-'}`);
    const deprecation = deprecationIn(headers, `${method} ${url.pathname.replace(baseUrl.pathname, '/')}`);
    if (deprecation !== undefined) onDeprecated?.(deprecation);
  };

/** One attempt at one address. */
const createBegin = async (needs: TransportOptions) => {
  const {ca, caSource, fingerprint} = needs.connection;
  const exchange = await createExchange({...trusting(ca), allowPartialTrustChain: fingerprint !== undefined});
  const common = headersOf(needs);

  return async (request: Request, {baseUrl, isHurried}: Attempt): Promise<Begun> => {
    const {method = 'GET', json, body, headers: more, signal, silenceMs} = request;
    const url = requestUrl(baseUrl, request);
    const text = body ?? (json === undefined ? undefined : JSON.stringify(json));
    const type = text !== undefined && {'content-type': 'application/json'};
    const failureOf = (error: unknown): CliError => {
      if (error instanceof TooLongAnswer) return unexpectedAnswer(url.origin);
      // Named in the error when the certificate is not trusted.
      if (fingerprint === undefined) return connectionFailure(error, url, caSource);
      return connectionFailure(Object.assign(error as Error, {trusted: fingerprint}), url);
    };
    if (signal?.aborted) throw signal.reason;
    const startedAt = performance.now();
    const headers = {...common, ...type, ...more};
    const begun = exchange(url, {method, headers, body: text, signal, isHurried, silenceMs});
    return {method, url, startedAt, failureOf, response: await orFailure(request, {failureOf}, begun)};
  };
};

/** Rejects with the reason of the signal when it has aborted. */
const orFailure = <T>({signal}: RequestOptions, {failureOf}: Pick<Begun, 'failureOf'>, work: Promise<T>): Promise<T> =>
  work.catch(error => {
    throw signal?.aborted ? signal.reason : failureOf(error);
  });

async function* failingAsRequest<T>({failureOf}: Begun, stream: AsyncIterable<T>): AsyncIterable<T> {
  try {
    yield* stream;
  } catch (error) {
    throw failureOf(error);
  }
}

/** `raw` takes a path from the command line: it must not send the key to another host or outside the API. */
const requestUrl = (baseUrl: URL, {path, query = {}}: Pick<Request, 'path' | 'query'>): URL => {
  const url = new URL(baseUrl.href + path.replace(/^\/+/, ''));
  if (url.origin !== baseUrl.origin || !url.pathname.startsWith(baseUrl.pathname))
    throw usageError(`${JSON.stringify(path)} leads out of ${baseUrl.pathname}`);
  for (const [name, value] of Object.entries(query)) if (value !== undefined) url.searchParams.set(name, String(value));
  return url;
};

const isRead = ({method = 'GET'}: Request): boolean => method === 'GET';

/** Reads, and the changes that the API makes only once however often they are requested. */
const isRepeatable = (request: Request): boolean =>
  isRead(request) ||
  (request.method === 'POST' &&
    /^\/*(?:mail\/quarantine\/(?:[^/]+\/[^/]+\/)?(?:release|discard)|auth\/api-keys\/[^/]+\/revoke)$/.test(request.path));

/**
 * Asks with a signal that aborts when one of `sources` does, and after `withinMs`, but not once the answer is there.
 * `AbortSignal.any` would leave something in a source that lives long for each request.
 */
const whileAsking = async <T>(
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

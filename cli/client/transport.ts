// Requests to the API over HTTPS: authentication, TLS, other addresses, retries, errors. The client has a method for each endpoint on top of it.
import type {IncomingHttpHeaders} from 'node:http';
import type {ClusterEvent} from '../../shared/cluster-event.ts';
import type {Envelope} from '../../shared/envelope.ts';
import type {EventType} from '../../shared/event-type.ts';
import {CliError, exitCodes, usageError} from '../errors.ts';
import {type Attempt, createAddresses, type Move} from './addresses.ts';
import type {Connection} from './connection.ts';
import {createExchange, deprecationIn, type Incoming, TooLongAnswer} from './exchange.ts';
import {answerFailure, connectionFailure, type FailedAnswer} from './request-failure.ts';
import {once, type Retry} from './retry.ts';
import {createStreams} from './streams.ts';
import {trusting} from './trust.ts';

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

export interface Answer<T> {
  data: T;
  etag: string | undefined;
  /** Lists only: the count of all matches, not only of this page. */
  totalCount: number | undefined;
  unreachableNodes: string[];
}

/** An unparsed answer with status 2xx, of any content type. */
export interface RawAnswer {
  body: Buffer;
  contentType: string;
  headers: IncomingHttpHeaders;
}

interface Answered extends RawAnswer {
  /** The origin of the node that answered. */
  origin: string;
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
   * aborts. No types means all that the key may see. Rejects, or throws while it is read, with a CliError when the node refuses
   * or the connection breaks. `followEvents` connects again.
   */
  events(types: readonly EventType[], signal: AbortSignal): Promise<AsyncIterable<ClusterEvent>>;
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
}

export const createTransport = async (needs: TransportOptions): Promise<Transport> => {
  const {connection, retry = once, onMove = () => undefined} = needs;
  const {baseUrl, others = [], ca, fingerprint} = connection;
  const addresses = createAddresses([baseUrl, ...others], onMove);
  const headers = headersOf(needs);
  const note = createNote(needs);
  const perform = await createPerform(connection, headers);
  const streams = createStreams({headers, ca, fingerprint, note});

  const attempt = async (
    request: Request,
    {baseUrl: base, isHurried}: Attempt,
    words?: FailedAnswer['words'],
  ): Promise<Answered> => {
    const url = requestUrl(base, request);
    const answer = await perform(url, request, isHurried);
    note(request.method ?? 'GET', url, answer);
    const {body, headers: received, status} = answer;
    if (status < 200 || status > 299) throw answerFailure({status, headers: received, body, url, ...(words && {words})});
    return {body, headers: received, contentType: received['content-type'] ?? '', origin: url.origin};
  };

  const ask = (request: Request, words?: FailedAnswer['words']): Promise<Answered> =>
    inTime(request, signal => {
      const options = {isRepeatable: isRepeatable(request), signal};
      return retry(() => addresses.ask(at => attempt({...request, signal}, at, words), options), signal);
    });

  return {
    raw: request => ask(request, detail => detail),
    send: async <T>(request: Request) => answerOf<T>(await ask(request)),
    download: (path, signal) =>
      addresses.ask(at => streams.download(requestUrl(at.baseUrl, {path}), signal), {isRepeatable: true, signal}),
    events: (types, signal) => {
      const query = {type: types.length > 0 ? types.join(',') : undefined};
      return addresses.ask(at => streams.events(requestUrl(at.baseUrl, {path: 'events', query}), signal), {
        isRepeatable: true,
        signal,
      });
    },
  };
};

const headersOf = ({connection: {apiKey}, version}: TransportOptions): Record<string, string> => ({
  'user-agent': `mfctl/${version}`,
  accept: 'application/json, */*',
  ...(apiKey !== undefined && {'x-api-key': apiKey}),
});

/** Called with each answer once it has begun. */
const createNote =
  ({connection: {baseUrl}, log, onDeprecated}: TransportOptions) =>
  (method: string, url: URL, {status, headers, ms}: Omit<Incoming, 'body'>): void => {
    log(`${method} ${url.pathname}${url.search} ${status} ${Math.round(ms)} ms, request ${headers['x-request-id'] ?? '-'}`);
    const deprecation = deprecationIn(headers, `${method} ${url.pathname.replace(baseUrl.pathname, '/')}`);
    if (deprecation !== undefined) onDeprecated?.(deprecation);
  };

/** One attempt at one address. */
const createPerform = async ({ca, fingerprint}: Connection, common: Record<string, string>) => {
  const exchange = await createExchange({...trusting(ca), ...(fingerprint !== undefined && {allowPartialTrustChain: true})});

  return async (url: URL, request: Request, isHurried: boolean): Promise<Incoming> => {
    const {method = 'GET', json, body, headers: more, signal, silenceMs} = request;
    const text = body ?? (json === undefined ? undefined : JSON.stringify(json));
    const type = text !== undefined && {'content-type': 'application/json'};
    if (signal?.aborted) throw signal.reason;
    try {
      return await exchange(url, {method, headers: {...common, ...type, ...more}, body: text, signal, isHurried, silenceMs});
    } catch (error) {
      if (signal?.aborted) throw signal.reason;
      if (error instanceof TooLongAnswer) throw unexpectedAnswer(url.origin);
      // Named in the error when the certificate is not trusted.
      throw connectionFailure(fingerprint === undefined ? error : Object.assign(error as Error, {trusted: fingerprint}), url);
    }
  };
};

/** `raw` takes a path from the command line: it must not send the key to another host or outside the API. */
const requestUrl = (baseUrl: URL, {path, query = {}}: Pick<Request, 'path' | 'query'>): URL => {
  const url = new URL(baseUrl.href + path.replace(/^\/+/, ''));
  if (url.origin !== baseUrl.origin || !url.pathname.startsWith(baseUrl.pathname))
    throw usageError(`${JSON.stringify(path)} leads out of ${baseUrl.pathname}`);
  for (const [name, value] of Object.entries(query)) if (value !== undefined) url.searchParams.set(name, String(value));
  return url;
};

/** Reads, and the changes that the API makes only once however often they are requested. */
const isRepeatable = ({method = 'GET', path}: Request): boolean =>
  method === 'GET' ||
  (method === 'POST' &&
    /^\/*(?:mail\/quarantine\/(?:[^/]+\/[^/]+\/)?(?:release|discard)|auth\/api-keys\/[^/]+\/revoke)$/.test(path));

const inTime = async <T>(
  {signal, withinMs}: RequestOptions,
  ask: (signal: AbortSignal | undefined) => Promise<T>,
): Promise<T> => {
  if (withinMs === undefined) return ask(signal);
  const end = new AbortController();
  const timer = setTimeout(() => end.abort(noAnswer(withinMs)), withinMs);
  try {
    return await ask(signal ? AbortSignal.any([signal, end.signal]) : end.signal);
  } finally {
    clearTimeout(timer);
  }
};

const noAnswer = (withinMs: number): CliError =>
  new CliError('timeout', `no answer within ${withinMs / 1000} s`, {
    exitCode: exitCodes.unreachable,
    hint: 'repeat it: no request acts twice',
  });

const answerOf = <T>({body, headers, origin}: Answered): Answer<T> => {
  const {data} = parseEnvelope<T>(body, origin);
  const total = /^\d{1,15}$/.test(String(headers['x-total-count'])) ? Number(headers['x-total-count']) : undefined;
  return {data, etag: headers.etag, totalCount: total, unreachableNodes: listOf(headers['x-unreachable-nodes'])};
};

const parseEnvelope = <T>(body: Buffer, origin: string): Envelope<T> => {
  try {
    const envelope: unknown = JSON.parse(body.toString('utf8'));
    if (typeof envelope === 'object' && envelope !== null && 'data' in envelope) return envelope as Envelope<T>;
  } catch {}
  throw unexpectedAnswer(origin);
};

const unexpectedAnswer = (origin: string): CliError =>
  new CliError('unexpected_answer', `${origin} answered, but not as mfd does`, {hint: 'check the address: mfctl context list'});

const listOf = (header: string | string[] | undefined): string[] =>
  [header ?? []]
    .flat()
    .join(',')
    .split(',')
    .map(name => name.trim())
    .filter(name => name !== '');

// The API over HTTPS. Loaded when a command first needs it: the help must not wait for an HTTP library.
import type {IncomingHttpHeaders} from 'node:http';
import type {ClusterEvent} from '../../shared/cluster-event.ts';
import type {Envelope} from '../../shared/envelope.ts';
import type {EventType} from '../../shared/event-type.ts';
import {CliError} from '../errors.ts';
import {type Attempt, createAddresses, type Move} from './addresses.ts';
import {inApiWords, inMfctlWords} from './api-words.ts';
import type {Connection} from './connection.ts';
import {deprecationIn} from './deprecation.ts';
import {createExchange, type Incoming, TooLongAnswer} from './exchange.ts';
import {answerFailure, connectionFailure, type FailedAnswer} from './request-failure.ts';
import {describe, type RequestTarget, requestUrl} from './request-line.ts';
import {once, type Retry} from './retry.ts';
import {createStreams} from './streams.ts';
import {trusting} from './trust.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

export interface Request extends RequestTarget {
  method?: Method;
  /** Sent as JSON. */
  json?: unknown;
  /** Sent as it is, in place of `json`. */
  body?: string | undefined;
  headers?: Record<string, string>;
  /** When it aborts, the request is given up and rejects with its reason. */
  signal?: AbortSignal | undefined;
  /** How long a node may say nothing before it counts as one that does not answer: 90 s by default. */
  silenceMs?: number | undefined;
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

interface Answered extends RawAnswer {
  /** Of the node that has answered. */
  origin: string;
}

export interface Client {
  /** Rejects with a CliError for everything but success. */
  send<T>(request: Request): Promise<Answer<T>>;
  /** Errors keep the words of the API. */
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
  /** Half a sentence about what a request has used that will be removed. */
  onDeprecated?: ((text: string) => void) | undefined;
  /** What becomes of a request that the node has no time for; without it, it fails. Streams and downloads are not repeated. */
  retry?: Retry;
  /** Another node is asked from now on. */
  onMove?: (move: Move) => void;
}

export const createClient = async (needs: ClientNeeds): Promise<Client> => {
  const {connection, version, log, onDeprecated, retry = once, onMove = ignore} = needs;
  const {baseUrl, others = [], apiKey, ca, fingerprint} = connection;
  const addresses = createAddresses([baseUrl, ...others], onMove);
  const trust = {...trusting(ca), ...(fingerprint !== undefined && {allowPartialTrustChain: true})};
  const headers = {
    'user-agent': `mfctl/${version}`,
    accept: 'application/json, */*',
    ...(apiKey !== undefined && {'x-api-key': apiKey}),
  };
  const exchange = await createExchange(trust);
  const note = (method: string, url: URL, answer: Omit<Incoming, 'body'>): void => {
    log(describe(method, url, answer));
    const deprecation = deprecationIn(answer.headers, `${method} ${url.pathname.replace(baseUrl.pathname, '/')}`);
    if (deprecation !== undefined) onDeprecated?.(deprecation);
  };
  const streams = createStreams({headers, ca, fingerprint, note});

  const perform = async (url: URL, request: Request, isHurried: boolean): Promise<Incoming> => {
    const {method = 'GET', json, body, headers: more, signal, silenceMs} = request;
    const text = body ?? (json === undefined ? undefined : JSON.stringify(json));
    const type = text !== undefined && {'content-type': 'application/json'};
    if (signal?.aborted) throw signal.reason;
    try {
      return await exchange(url, {method, headers: {...headers, ...type, ...more}, body: text, signal, isHurried, silenceMs});
    } catch (error) {
      if (signal?.aborted) throw signal.reason;
      if (error instanceof TooLongAnswer) throw unexpectedAnswer(url.origin);
      // Said of it when it is not trusted.
      throw connectionFailure(fingerprint === undefined ? error : Object.assign(error as Error, {trusted: fingerprint}), url);
    }
  };

  const attempt = async (request: Request, {baseUrl: base, isHurried}: Attempt, words = inMfctlWords): Promise<Answered> => {
    const url = requestUrl(base, request);
    const answer = await perform(url, request, isHurried);
    note(request.method ?? 'GET', url, answer);
    const {body, headers: received, status} = answer;
    if (status < 200 || status > 299) throw answerFailure({status, headers: received, body, url, words});
    return {body, headers: received, contentType: received['content-type'] ?? '', origin: url.origin};
  };

  const ask = (request: Request, words?: FailedAnswer['words']): Promise<Answered> => {
    const options = {isRepeatable: isRepeatable(request), signal: request.signal};
    return retry(() => addresses.ask(at => attempt(request, at, words), options), request.signal);
  };

  return {
    sendRaw: request => ask(request, inApiWords),

    send: async <T>(request: Request) => {
      const {body, headers: received, origin} = await ask(request);
      const {data} = parseEnvelope<T>(body, origin);
      const total = /^\d{1,15}$/.test(String(received['x-total-count'])) ? Number(received['x-total-count']) : undefined;
      return {
        data,
        etag: received.etag,
        totalCount: total,
        unreachableNodes: listOf(received['x-unreachable-nodes']),
      };
    },

    download: (path, signal) =>
      addresses.ask(({baseUrl: base}) => streams.download(base, path, signal), {isRepeatable: true, signal}),

    events: (types, signal) =>
      addresses.ask(({baseUrl: base}) => streams.events(base, types, signal), {isRepeatable: true, signal}),
  };
};

const ignore = (): void => undefined;

/** Reads, and the changes that the API promises to do only once, however often they are requested. */
const isRepeatable = ({method = 'GET', path}: Request): boolean =>
  method === 'GET' ||
  (method === 'POST' &&
    /^\/*(?:mail\/quarantine\/(?:[^/]+\/[^/]+\/)?(?:release|discard)|auth\/api-keys\/[^/]+\/revoke)$/.test(path));

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

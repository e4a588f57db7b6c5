// A scripted API, for answers that a healthy node does not give.
import {mkdtemp, rm, writeFile} from 'node:fs/promises';
import type {ServerResponse} from 'node:http';
import {createServer} from 'node:https';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import type {ExecutionContext} from 'ava';
import {selfSigned} from '../certificate.ts';
import {listening} from '../listening.ts';
import {isDescribed} from './endpoints.ts';
import {type FakeTerminalOptions, runCli} from './fake-terminal.ts';

export interface Received {
  method: string;
  path: string;
  query: URLSearchParams;
  headers: Record<string, string | string[] | undefined>;
  body: string;
}

export interface Reply {
  status?: number;
  headers?: Record<string, string>;
  data?: unknown;
  error?: {code: string; detail: string; fields?: {path: string; detail: string}[]};
  /** Sent as is, in place of an envelope. */
  raw?: string | Buffer;
  /** Writes the body in place of the above, and ends it at any time. */
  stream?: (response: ServerResponse) => void;
  /** No answer is sent: the caller waits. */
  isHeld?: boolean;
}

type Answer = Reply | ((request: Received) => Reply | Promise<Reply>);

/**
 * Answers by `METHOD /path` below `/api/v1`; anything else is 404. The certificate is self-signed unless one is given. A request
 * that is not in the administrators' API description fails the test, unless `mfctl api` was told to send it.
 */
export const startApi = async (t: ExecutionContext, answers: Record<string, Answer>, tls?: {key: string; cert: string}) => {
  const {key, cert} = tls ?? (await selfSigned('localhost'));
  const requests: Received[] = [];
  const undescribed: string[] = [];
  /** True while `mfctl api` runs. */
  let isFree = false;

  // Keeps a connection as long as mfd does. A connection that closes just as it is used again is tested elsewhere.
  const server = createServer({key, cert, keepAliveTimeout: 65_000}, async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const {pathname, searchParams: query} = new URL(request.url ?? '', 'https://node');
    const path = pathname.replace('/api/v1', '');
    const received = {
      method: request.method ?? '',
      path,
      query,
      headers: request.headers,
      body: Buffer.concat(chunks).toString(),
    };
    requests.push(received);
    const isOfMfctl = pathname.startsWith('/api/v1/') && String(request.headers['user-agent']).startsWith('mfctl/');
    if (isOfMfctl && !isFree && !isDescribed(path, received.method) && !path.startsWith('/openapi'))
      undescribed.push(`${received.method} ${path}`);

    const answer = answers[`${received.method} ${path}`] ?? {status: 404, error: {code: 'not_found', detail: `no ${path}`}};
    const {
      status = 200,
      headers = {},
      data = null,
      error,
      raw,
      stream,
      isHeld,
    } = typeof answer === 'function' ? await answer(received) : answer;
    if (isHeld) return;
    if (stream) return stream(response.writeHead(status, {'x-request-id': 'r-1', ...headers}));
    const envelope = {data, error: error ? {...error, request_id: 'r-1'} : null, message: 'OK'};
    const type = raw === undefined ? {'content-type': 'application/json; charset=utf-8'} : {};
    response.writeHead(status, {...type, 'x-request-id': 'r-1', ...headers}).end(raw ?? JSON.stringify(envelope));
  });
  const port = await listening(t, server, {host: 'localhost'});
  const folder = await mkdtemp(join(tmpdir(), 'mfctl-api-'));
  const stop = (): void => {
    server.close();
    server.closeAllConnections();
  };
  t.teardown(async () => {
    await rm(folder, {recursive: true});
    if (undescribed.length > 0) throw new Error(`not in the administrators’ description: ${undescribed.join(', ')}`);
  });
  const caFile = join(folder, 'ca.pem');
  await writeFile(caFile, cert);
  const url = `https://localhost:${port}`;
  const env = {XDG_CONFIG_HOME: folder, MFCTL_URL: url, MFCTL_API_KEY: 'mfk_test', MFCTL_CACERT: caFile, MFCTL_RETRY_FOR: '0s'};

  return {
    url,
    folder,
    env,
    requests,
    /** Closes the listener. */
    stop,
    /** Takes effect with the next connection. */
    setCertificate: (next: {key: string; cert: string}) => {
      server.setSecureContext(next);
      server.closeAllConnections();
    },
    mfctl: async (argv: string[], options: FakeTerminalOptions = {}) => {
      isFree = argv.includes('api');
      return runCli(argv, {...options, env: {...env, ...options.env}}).finally(() => {
        isFree = false;
      });
    },
  };
};

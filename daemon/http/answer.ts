// Answers: the one place that writes envelopes, from a service's answer or from its fault; streams of text; requests that nobody
// can read.

import {randomBytes} from 'node:crypto';
import type {RequestListener} from 'node:http';
import {type Duplex, Readable} from 'node:stream';
import type {Middleware} from 'koa';
import type {Logger} from 'pino';
import {failure, type SuccessMessage, success} from '../../shared/envelope.ts';
import {Fault} from '../../shared/fault.ts';
import {ownValue} from '../../shared/has-own.ts';
import type {Ctx, RequestState} from './observe.ts';

export const reply = (ctx: Pick<Ctx, 'status' | 'body'>, data: unknown, message: SuccessMessage = 'OK'): void => {
  ctx.status = message === 'Created' ? 201 : 200;
  ctx.body = success(data, message);
};

/** The nodes whose part is missing from an answer, or that do not know yet what was done. */
export const nameUnreachable = (ctx: Pick<Ctx, 'set'>, nodeIds: readonly string[]): void => {
  if (nodeIds.length > 0) ctx.set('X-Unreachable-Nodes', nodeIds.join(', '));
};

const newRequestId = (): string => randomBytes(10).toString('hex');

/** Gives every request an id, every answer the safe headers, and every error its envelope. */
export const answerErrors =
  <S extends Pick<RequestState, 'requestId'>>(log: Logger): Middleware<S> =>
  async (ctx, next) => {
    ctx.state.requestId = newRequestId();
    ctx.set({'X-Request-Id': ctx.state.requestId, 'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff'});
    try {
      await next();
    } catch (error) {
      const fault = faultFrom(error);
      if (fault.code === 'internal') log.error({request_id: ctx.state.requestId, err: error}, 'request failed');
      ctx.set(headersOf(fault));
      ctx.status = fault.status;
      ctx.body = failure(fault, ctx.state.requestId);
    }
  };

const faultFrom = (error: unknown): Fault => {
  if (error instanceof Fault) return error;
  // Koa and its router report a path that cannot be decoded this way.
  if (error instanceof Error && (error as {status?: unknown}).status === 400)
    return new Fault('invalid_parameter', 'the path is not valid percent-encoded UTF-8', {cause: error});
  return new Fault('internal', 'the node failed to answer; quote the request id to its operator', {cause: error});
};

const headersOf = ({code, details}: Fault): Record<string, string> => ({
  ...(code.startsWith('key_') && {'WWW-Authenticate': `ApiKey realm="mfd", header="X-API-Key", error="${code}"`}),
  ...(details.allow && {Allow: details.allow.join(', ')}),
  ...(details.retryAfterSeconds !== undefined && {'Retry-After': String(details.retryAfterSeconds)}),
});

export type TextStream = ReturnType<typeof createTextStream>;

const maxWaitingBytes = 1024 * 1024;
/** What the reader has not taken yet, before `ready` waits. */
const enoughBytes = 64 * 1024;
/** A reader that takes nothing for so long has gone without a word, or is stopped. */
const stalledMs = 60_000;

export const createTextStream = () => {
  let taken = (): void => {};
  const body = new Readable({read: () => taken(), highWaterMark: enoughBytes});
  let isEnded = false;
  let waiting: Promise<void> | undefined;
  const wait = async (): Promise<void> => {
    const stalled = setTimeout(() => body.destroy(new Error('the reader does not read')), stalledMs).unref();
    await new Promise<void>(resolve => {
      taken = resolve;
    });
    clearTimeout(stalled);
    waiting = undefined;
  };
  // Koa logs errors of the answer.
  body.on('error', () => {});
  body.once('close', () => taken());

  return {
    body,
    send(text: string): void {
      if (isEnded || body.destroyed) return;
      if (body.readableLength < maxWaitingBytes) body.push(text);
      else body.destroy(new Error('the reader is too slow'));
    },
    end(): void {
      if (!isEnded && !body.destroyed) body.push(null);
      isEnded = true;
    },
    /** Resolves when the reader can take more, at once mostly, or is gone. */
    async ready(): Promise<void> {
      while (!body.destroyed && body.readableLength >= enoughBytes) {
        waiting ??= wait();
        await waiting;
      }
    },
    /** Calls the listener once, when the reader is gone or the stream has ended. */
    onClose: (listener: () => void) => void body.once('close', listener),
  };
};

/** How long a client may take to read the answer. */
const lingerMs = 1000;

/** For the `clientError` event of an HTTP server. */
export const answerBrokenRequest = (error: NodeJS.ErrnoException, socket: Duplex): void => {
  // No answer if the client is gone or the TLS handshake failed: `end` would wait for a handshake that never completes.
  if (!socket.writable || error.code === 'ECONNRESET' || /^ERR_(SSL|TLS)/.test(error.code ?? '')) {
    socket.destroy();
    return;
  }
  const {headers, body} = refusal(ownValue(details, error.code ?? '') ?? 'the request is not valid HTTP/1.1');
  const head = ['HTTP/1.1 400 Bad Request', ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`)];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
  setTimeout(() => socket.destroy(), lingerMs).unref();
};

/**
 * Passes requests whose target is a path, and replaces a URL by its path (RFC 9112 section 3.2.2). The parser accepts any target
 * without spaces, and Koa throws when it reads the path of `http://[::1/`. That once happened outside of a request, and ended the
 * node.
 */
export const refuseBrokenTargets =
  (handler: RequestListener): RequestListener =>
  (request, response) => {
    const target = originForm(request.url ?? '');
    if (target !== undefined) {
      request.url = target;
      handler(request, response);
      return;
    }
    const {headers, body} = refusal('the target of the request is not a path in percent-encoded ASCII, such as /api/v1/auth/me');
    response.writeHead(400, headers).end(body);
  };

const originForm = (target: string): string | undefined => {
  if (/^\/[!"$-~]*$/.test(target) || target === '*') return target;
  if (!/^https?:\/\/[!"$-~]+$/i.test(target) || !URL.canParse(target)) return undefined;
  const {pathname, search} = new URL(target);
  return `${pathname}${search}`;
};

const refusal = (detail: string): {headers: Record<string, string>; body: string} => {
  const requestId = newRequestId();
  const body = JSON.stringify(failure(new Fault('invalid_parameter', detail), requestId));
  const headers = {
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': String(Buffer.byteLength(body)),
    'X-Request-Id': requestId,
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
    Connection: 'close',
  };
  return {headers, body};
};

const details: Record<string, string> = {
  HPE_HEADER_OVERFLOW: 'the request line and headers are larger than 16 KiB; send less of them',
  ERR_HTTP_REQUEST_TIMEOUT: 'the request took too long to arrive',
};

// Answers to malformed requests that the HTTP parser rejects, or should have rejected. They get an envelope and a request id too.
import type {RequestListener} from 'node:http';
import type {Duplex} from 'node:stream';
import {failure} from '../../shared/envelope.ts';
import {Fault} from '../../shared/fault.ts';
import {newRequestId} from './answer.ts';

/** How long a client may take to read the answer. */
const lingerMs = 1000;

/** For the `clientError` event of an HTTP server. */
export const answerBrokenRequest = (error: NodeJS.ErrnoException, socket: Duplex): void => {
  // No answer if the client is gone or the TLS handshake failed: `end` would wait for a handshake that never completes.
  if (!socket.writable || error.code === 'ECONNRESET' || /^ERR_(SSL|TLS)/.test(error.code ?? '')) {
    socket.destroy();
    return;
  }
  const {headers, body} = refusal(details[error.code ?? ''] ?? 'the request is not valid HTTP/1.1');
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
    const {headers, body} = refusal('the target of the request is no path in percent-encoded ASCII, such as /api/v1/auth/me');
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

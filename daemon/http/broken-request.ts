// What the HTTP parser turns away never becomes a request, nor does what it should have turned away; it still gets the envelope
// and an id to quote.
import {randomBytes} from 'node:crypto';
import type {RequestListener} from 'node:http';
import type {Duplex} from 'node:stream';
import {failure} from '../../shared/envelope.ts';
import {Fault} from '../../shared/fault.ts';

/** How long a client that was turned away may take to read that. */
const lingerMs = 1000;

/** For the `clientError` event of an HTTP server. */
export const answerBrokenRequest = (error: NodeJS.ErrnoException, socket: Duplex): void => {
  // A client that is gone, or with whom TLS was not agreed on, hears nothing: an end would wait for a handshake that never comes.
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
 * Lets requests through whose target is a path, and those whose target is a URL as one for its path (RFC 9112 section 3.2.2).
 * The parser takes anything between two spaces for a target, and Koa throws wherever it is asked for the path of
 * `http://[::1/`: once outside of any request, which ended the node.
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
  const requestId = randomBytes(10).toString('hex');
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

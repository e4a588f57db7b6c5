// What the HTTP parser turns away never becomes a request; it still gets the envelope and an id to quote.
import {randomBytes} from 'node:crypto';
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
  const fault = new Fault('invalid_parameter', details[error.code ?? ''] ?? 'the request is not valid HTTP/1.1');
  const requestId = randomBytes(10).toString('hex');
  const body = JSON.stringify(failure(fault, requestId));
  const head = [
    'HTTP/1.1 400 Bad Request',
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    `X-Request-Id: ${requestId}`,
    'Cache-Control: no-store',
    'X-Content-Type-Options: nosniff',
    'Connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
  setTimeout(() => socket.destroy(), lingerMs).unref();
};

const details: Record<string, string> = {
  HPE_HEADER_OVERFLOW: 'the request line and headers are larger than 16 KiB; send less of them',
  ERR_HTTP_REQUEST_TIMEOUT: 'the request took too long to arrive',
};

import type {Server as HttpServer, IncomingMessage, RequestListener, ServerResponse} from 'node:http';
import {createServer as createHttpServer} from 'node:http';
import {createServer as createHttpsServer, type Server as HttpsServer} from 'node:https';
import type {HostPort} from '../shared/host-port.ts';
import type {KeyAndCertificate} from './cluster/certificates.ts';
import {answerBrokenRequest} from './http/broken-request.ts';

export interface Listener {
  address: HostPort;
  /** New connections get this certificate; kept-alive ones go on with theirs. */
  setCertificate(pair: KeyAndCertificate): void;
  /** Stops accepting, lets requests under way finish for at most `graceMs`, then cuts them off. */
  stop(graceMs: number): Promise<void>;
}

/** How long a client may take: for the TLS handshake, for its headers, for a whole request. */
const limits = {handshakeTimeout: 10_000, headersTimeout: 10_000, requestTimeout: 30_000, keepAliveTimeout: 65_000};

export const listenHttps = async (listen: HostPort, pair: KeyAndCertificate, handler: RequestListener): Promise<Listener> => {
  const server = createHttpsServer({...pair, ...limits, minVersion: 'TLSv1.2'}, handler);
  return {...(await open(server, listen)), setCertificate: next => server.setSecureContext({...next, minVersion: 'TLSv1.2'})};
};

/** Only clients with a certificate of `authority` get past the handshake. */
export const listenMutualTls = async (
  listen: HostPort,
  pair: KeyAndCertificate & {ca: string},
  handler: RequestListener,
): Promise<Listener> => {
  const demands = {requestCert: true, rejectUnauthorized: true, minVersion: 'TLSv1.3'} as const;
  const server = createHttpsServer({...pair, ...limits, ...demands}, handler);
  return {...(await open(server, listen)), setCertificate: next => server.setSecureContext({...next, ca: pair.ca, ...demands})};
};

export const listenHttp = async (listen: HostPort, handler: RequestListener): Promise<Listener> => ({
  ...(await open(createHttpServer(limits, handler), listen)),
  setCertificate: () => {},
});

const open = async (server: HttpServer | HttpsServer, {host, port}: HostPort): Promise<Pick<Listener, 'address' | 'stop'>> => {
  server.on('clientError', answerBrokenRequest);
  // An expectation nobody here can meet is no reason to refuse (RFC 9110 section 10.1.1 leaves it open).
  server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) =>
    server.emit('request', request, response),
  );
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  });
  const bound = server.address();
  return {
    address: {host, port: typeof bound === 'object' && bound ? bound.port : port},
    async stop(graceMs) {
      const closed = new Promise<void>(resolve => server.close(() => resolve()));
      server.closeIdleConnections();
      const deadline = setTimeout(() => server.closeAllConnections(), graceMs);
      // A connection that falls idle while we wait would otherwise be waited for until its keep-alive ends.
      const idle = setInterval(() => server.closeIdleConnections(), 100);
      await closed;
      clearTimeout(deadline);
      clearInterval(idle);
    },
  };
};

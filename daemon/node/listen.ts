import {X509Certificate} from 'node:crypto';
import {once} from 'node:events';
import type {Server as HttpServer, IncomingMessage, RequestListener, ServerResponse} from 'node:http';
import {createServer as createHttpServer} from 'node:http';
import {createServer as createHttpsServer, type Server as HttpsServer} from 'node:https';
import type {TLSSocket} from 'node:tls';
import type {HostPort} from '../../shared/host-port.ts';
import type {KeyAndCertificate} from '../cluster/certificates.ts';
import {verifiedCertificate} from '../cluster/peer-identity.ts';
import {answerBrokenRequest, refuseBrokenTargets} from '../http/answer.ts';
import type {ShownCertificate} from '../services/cluster/certificate-names.ts';
import {type Connections, createConnections} from './connections.ts';

export interface Listener {
  address: HostPort;
  /** Sets the certificate for new connections; kept-alive connections keep theirs. */
  setCertificate(pair: KeyAndCertificate): void;
  /** Stops accepting, lets requests in progress finish for at most `graceMs`, then closes their connections. */
  stop(graceMs: number): Promise<void>;
}

/** How long work in progress may take once the node stops. */
export const graceMs = 7000;

/**
 * Time limits for a client, in milliseconds: for the headers, a whole request, and between requests. The limit of `Connections` for
 * handshake and first request is shorter than Node's for the handshake.
 */
const limits = {headersTimeout: 10_000, requestTimeout: 30_000, keepAliveTimeout: 65_000};

/**
 * A connection without any data for this long is closed: the client does not read, or the request does not end. Longer than any
 * release takes.
 */
const silenceMs = 600_000;
/** How long a client that is not admitted may stay connected, for one request and its answer. */
const refusalMs = 2000;

/** How long a connection without a request may still send one after the listener was asked to stop. */
const lastRequestMs = 500;

interface Tls extends KeyAndCertificate {
  connections?: Connections;
}

export const listenHttps = async (
  listen: HostPort,
  {connections = createConnections(), ...pair}: Tls,
  handler: RequestListener,
): Promise<Listener> => {
  const server = createHttpsServer({...pair, ...limits, minVersion: 'TLSv1.2'}, oneByOne(handler));
  return {
    ...(await open(server, listen, connections)),
    setCertificate: next => server.setSecureContext({...next, minVersion: 'TLSv1.2'}),
  };
};

export interface MutualListener extends Listener {
  /** Closes connections of clients that are no longer admitted, and connections older than one of their certificates. */
  expel(): void;
}

interface MutualTls extends Tls {
  /** Only clients with a certificate of this authority can make requests. */
  ca: string;
  /** Whether the owner of such a certificate, which may have expired, may connect. */
  admits(shown: ShownCertificate): boolean;
  /** Whether such a certificate, of a client that is admitted, makes it no stranger. */
  trusts(shown: ShownCertificate): boolean;
  /** Whether a client that is not admitted may make one request, to receive the reason. */
  mayGetReason(shown: ShownCertificate): boolean;
}

interface Client {
  shown: ShownCertificate;
  isAdmitted: boolean;
  /** When the certificate of this listener expires. */
  ownEndMs: number;
  /** When the first of both certificates expires; the client's does not count if it had expired before the connection began. */
  outlivedMs: number;
}

/** Time for an answer that was begun before a certificate expired. */
const lastAnswerMs = 60_000;

/**
 * The authority is sent along: a client with a join token knows only its fingerprint. TLS does not reject clients, so that one
 * with an expired certificate can ask for a new one: each client is checked here before any of its data is read.
 */
export const listenMutualTls = async (listen: HostPort, tls: MutualTls, handler: RequestListener): Promise<MutualListener> => {
  const {ca, admits, trusts, mayGetReason, connections = createConnections()} = tls;
  const authority = new X509Certificate(ca);
  const tlsOptions = {ca, requestCert: true, rejectUnauthorized: false, minVersion: 'TLSv1.3'} as const;
  const shownPair = ({key, cert}: KeyAndCertificate) => ({key, cert: `${cert}\n${ca}`, ...tlsOptions});

  const clients = new Map<TLSSocket, Client>();
  const onRequest: RequestListener = (request, response) => {
    const client = clients.get(request.socket as TLSSocket);
    if (!client || client.ownEndMs <= Date.now()) request.socket.destroy();
    else handler(request, response);
  };
  const server = createHttpsServer({...shownPair(tls), ...limits}, oneByOne(onRequest));
  server.prependListener('secureConnection', (socket: TLSSocket) => {
    const shown = verifiedCertificate(socket, authority);
    const isAdmitted = shown !== undefined && admits(shown);
    if (!shown || !(isAdmitted || mayGetReason(shown))) {
      socket.destroy();
      return;
    }
    if (isAdmitted && trusts(shown)) connections.trust(socket);
    if (!isAdmitted) setTimeout(() => socket.destroy(), refusalMs).unref();
    const ownEndMs = Date.parse(socket.getX509Certificate()?.validTo ?? '');
    const outlivedMs = shown.endMs <= Date.now() ? ownEndMs : Math.min(ownEndMs, shown.endMs);
    clients.set(socket, {shown, isAdmitted, ownEndMs, outlivedMs});
    socket.once('close', () => clients.delete(socket));
  });
  return {
    ...(await open(server, listen, connections)),
    setCertificate: next => server.setSecureContext(shownPair(next)),
    expel() {
      for (const [socket, {shown, isAdmitted, outlivedMs}] of clients)
        if (isAdmitted && (!admits(shown) || outlivedMs + lastAnswerMs <= Date.now())) socket.destroy();
    },
  };
};

export const listenHttp = async (listen: HostPort, handler: RequestListener): Promise<Listener> => ({
  ...(await open(createHttpServer(limits, oneByOne(handler)), listen, createConnections())),
  setCertificate: () => {},
});

/**
 * A pipelined request (RFC 9112 section 9.3.2) waits for the answer to the one before it. Node would start its answer at once; if
 * the connection then closed first, no event reported it, and the source of the answer stayed open forever.
 */
const oneByOne = (handler: RequestListener): RequestListener => {
  const begin = refuseBrokenTargets(handler);
  return (request, response) => {
    if (response.socket) begin(request, response);
    // Node still works on this answer after the event: it must not end before that.
    else response.once('socket', () => process.nextTick(begin, request, response));
  };
};

const open = async (
  server: HttpServer | HttpsServer,
  {host, port}: HostPort,
  connections: Connections,
): Promise<Pick<Listener, 'address' | 'stop'>> => {
  server.on('clientError', answerBrokenRequest);
  server.setTimeout(silenceMs);
  connections.track(server);
  // An unknown expectation is ignored, not refused (RFC 9110 section 10.1.1 permits both).
  server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) =>
    server.emit('request', request, response),
  );
  server.listen(port, host);
  await once(server, 'listening');
  const bound = server.address();
  return {
    address: {host, port: typeof bound === 'object' && bound ? bound.port : port},
    async stop(graceMs) {
      const closed = new Promise<void>(resolve => server.close(() => resolve()));
      connections.announceEnd();
      server.closeIdleConnections();
      const lastRequest = setTimeout(connections.destroyUnused, Math.min(lastRequestMs, graceMs));
      const deadline = setTimeout(connections.destroyAll, graceMs);
      // A connection that becomes idle while the server stops would otherwise stay open until its keep-alive ends.
      const idle = setInterval(() => server.closeIdleConnections(), 100);
      await closed;
      clearTimeout(lastRequest);
      clearTimeout(deadline);
      clearInterval(idle);
    },
  };
};

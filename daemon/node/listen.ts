import {X509Certificate} from 'node:crypto';
import {once} from 'node:events';
import type {Server as HttpServer, IncomingMessage, RequestListener, ServerResponse} from 'node:http';
import {createServer as createHttpServer} from 'node:http';
import {createServer as createHttpsServer, type Server as HttpsServer} from 'node:https';
import type {Socket} from 'node:net';
import type {TLSSocket} from 'node:tls';
import type {HostPort} from '../../shared/host-port.ts';
import type {KeyAndCertificate} from '../cluster/certificates.ts';
import {verifiedCertificate} from '../cluster/peer-identity.ts';
import {answerBrokenRequest, refuseBrokenTargets} from '../http/answer.ts';
import type {ShownCertificate} from '../services/cluster/certificate-names.ts';

export interface Listener {
  address: HostPort;
  /** Sets the certificate for new connections; kept-alive connections keep theirs. */
  setCertificate(pair: KeyAndCertificate): void;
  /** Stops accepting, lets requests in progress finish for at most `graceMs`, then closes their connections. */
  stop(graceMs: number): Promise<void>;
}

/** How long work in progress may take once the node stops. */
export const graceMs = 7000;

/** Time limits for a client, in milliseconds: for the TLS handshake, the headers, a whole request, and between requests. */
const limits = {handshakeTimeout: 10_000, headersTimeout: 10_000, requestTimeout: 30_000, keepAliveTimeout: 65_000};

/**
 * A connection without any data for this long is closed: the client does not read, or the request does not end. Longer than any
 * release takes.
 */
const silenceMs = 600_000;
const maxConnections = 2000;
/** Limit for one connection, including the request that is being answered; a client that sends more ahead is disconnected. */
const maxRequestsAhead = 100;
/** How long a client that is not admitted may stay connected, for one request and its answer. */
const refusalMs = 2000;

/** How long a connection without a request may still send one after the listener was asked to stop. */
const lastRequestMs = 500;

export const listenHttps = async (listen: HostPort, pair: KeyAndCertificate, handler: RequestListener): Promise<Listener> => {
  const server = createHttpsServer({...pair, ...limits, minVersion: 'TLSv1.2'}, oneByOne(handler));
  return {...(await open(server, listen)), setCertificate: next => server.setSecureContext({...next, minVersion: 'TLSv1.2'})};
};

export interface MutualListener extends Listener {
  /** Closes connections of clients that are no longer admitted, and connections older than one of their certificates. */
  expel(): void;
}

interface MutualTls extends KeyAndCertificate {
  /** Only clients with a certificate of this authority can make requests. */
  ca: string;
  /** Whether the owner of such a certificate, which may have expired, may connect. */
  admits(shown: ShownCertificate): boolean;
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
  const {ca, admits, mayGetReason} = tls;
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
    if (!isAdmitted) setTimeout(() => socket.destroy(), refusalMs).unref();
    const ownEndMs = Date.parse(socket.getX509Certificate()?.validTo ?? '');
    const outlivedMs = shown.endMs <= Date.now() ? ownEndMs : Math.min(ownEndMs, shown.endMs);
    clients.set(socket, {shown, isAdmitted, ownEndMs, outlivedMs});
    socket.once('close', () => clients.delete(socket));
  });
  return {
    ...(await open(server, listen)),
    setCertificate: next => server.setSecureContext(shownPair(next)),
    expel() {
      for (const [socket, {shown, isAdmitted, outlivedMs}] of clients)
        if (isAdmitted && (!admits(shown) || outlivedMs + lastAnswerMs <= Date.now())) socket.destroy();
    },
  };
};

export const listenHttp = async (listen: HostPort, handler: RequestListener): Promise<Listener> => ({
  ...(await open(createHttpServer(limits, oneByOne(handler)), listen)),
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

const open = async (server: HttpServer | HttpsServer, {host, port}: HostPort): Promise<Pick<Listener, 'address' | 'stop'>> => {
  server.on('clientError', answerBrokenRequest);
  server.setTimeout(silenceMs);
  server.maxConnections = maxConnections;
  const connections = trackConnections(server);
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

/**
 * Node's own closeAllConnections misses connections that did not finish the TLS handshake or sent nothing. Data that changes with
 * each request is in arrays: a map with many deletions leaves old tables behind, and V8 keeps the answers they refer to until it
 * has collected its whole heap.
 */
const trackConnections = (server: HttpServer | HttpsServer) => {
  const open = new Map<Socket, ServerResponse[]>();
  const answersByEnd = new Map<string, ServerResponse[]>();
  // The raw socket of a TLS connection and the socket of its requests have the same remote address and port.
  const otherEnd = ({remoteAddress, remotePort}: Socket) => `${remoteAddress} ${remotePort}`;

  server.on('connection', (socket: Socket) => {
    const end = otherEnd(socket);
    const answers: ServerResponse[] = [];
    open.set(socket, answers);
    answersByEnd.set(end, answers);
    socket.once('close', () => {
      open.delete(socket);
      if (answersByEnd.get(end) === answers) answersByEnd.delete(end);
    });
  });
  let isLast = false;
  server.prependListener('request', ({socket}: IncomingMessage, response: ServerResponse) => {
    response.shouldKeepAlive &&= !isLast;
    const answers = answersByEnd.get(otherEnd(socket));
    answers?.push(response);
    if (answers && answers.length > maxRequestsAhead) socket.destroy();
    response.once('close', () => answers?.splice(answers.indexOf(response), 1));
  });
  return {
    /** From now on, answers announce the end of their connection. */
    announceEnd: () => {
      isLast = true;
      for (const response of [...open.values()].flat()) response.shouldKeepAlive = false;
    },
    destroyUnused: () => {
      for (const [socket, answers] of open) if (answers.length === 0) socket.destroy();
    },
    destroyAll: () => {
      for (const socket of open.keys()) socket.destroy();
    },
  };
};

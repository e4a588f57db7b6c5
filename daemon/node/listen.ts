import {X509Certificate} from 'node:crypto';
import type {Server as HttpServer, IncomingMessage, RequestListener, ServerResponse} from 'node:http';
import {createServer as createHttpServer} from 'node:http';
import {createServer as createHttpsServer, type Server as HttpsServer} from 'node:https';
import type {Socket} from 'node:net';
import type {TLSSocket} from 'node:tls';
import type {HostPort} from '../../shared/host-port.ts';
import type {KeyAndCertificate} from '../cluster/certificates.ts';
import {verifiedCertificate} from '../cluster/peer-certificate.ts';
import {answerBrokenRequest, refuseBrokenTargets} from '../http/broken-request.ts';
import type {ShownCertificate} from '../services/cluster/certificate-validity.ts';

export interface Listener {
  address: HostPort;
  /** New connections get this certificate; kept-alive ones go on with theirs. */
  setCertificate(pair: KeyAndCertificate): void;
  /** Stops accepting, lets requests under way finish for at most `graceMs`, then cuts them off. */
  stop(graceMs: number): Promise<void>;
}

/** How long a client may take: for the TLS handshake, for its headers, for a whole request. */
const limits = {handshakeTimeout: 10_000, headersTimeout: 10_000, requestTimeout: 30_000, keepAliveTimeout: 65_000};

/** A client that reads nothing of its answer, or a request that nothing comes of, ends then. Longer than any release takes. */
const silenceMs = 600_000;
const maxConnections = 2000;
/** On one connection, the one that is being answered among them; whoever sends more ahead is cut off. */
const maxRequestsAhead = 100;
/** For one request and its answer. */
const hearingMs = 2000;

/** How long a connection without a request may still bring one, once the listener is to stop. */
const lastRequestMs = 500;

export const listenHttps = async (listen: HostPort, pair: KeyAndCertificate, handler: RequestListener): Promise<Listener> => {
  const server = createHttpsServer({...pair, ...limits, minVersion: 'TLSv1.2'}, oneByOne(handler));
  return {...(await open(server, listen)), setCertificate: next => server.setSecureContext({...next, minVersion: 'TLSv1.2'})};
};

export interface MutualListener extends Listener {
  /** Closes the connections of clients that are not admitted any more, and those that have outlived a certificate they began with. */
  expel(): void;
}

interface MutualTls extends KeyAndCertificate {
  /** Only clients with a certificate of this authority are heard. */
  ca: string;
  /** Whether the bearer of such a certificate, which may have ended, may be connected at all. */
  admits(shown: ShownCertificate): boolean;
  /** Whether who is not admitted may ask once, to be told so. */
  mayHearWhy(shown: ShownCertificate): boolean;
}

interface Guest {
  shown: ShownCertificate;
  isAdmitted: boolean;
  /** When the certificate ends that this end has shown. */
  ownEndMs: number;
  /** When the first of both ends, unless the client began with one that had ended. */
  outlivedMs: number;
}

/** For an answer that was begun in time. */
const lastAnswerMs = 60_000;

/**
 * The authority is sent along: who comes with a join token knows no more of it than its fingerprint. TLS itself rejects no client, so that
 * one whose certificate has ended can ask for a new one: each is looked at here before anything of it is read.
 */
export const listenMutualTls = async (listen: HostPort, tls: MutualTls, handler: RequestListener): Promise<MutualListener> => {
  const {ca, admits, mayHearWhy} = tls;
  const authority = new X509Certificate(ca);
  const demands = {ca, requestCert: true, rejectUnauthorized: false, minVersion: 'TLSv1.3'} as const;
  const shownPair = ({key, cert}: KeyAndCertificate) => ({key, cert: `${cert}\n${ca}`, ...demands});

  const guests = new Map<TLSSocket, Guest>();
  const onRequest: RequestListener = (request, response) => {
    const guest = guests.get(request.socket as TLSSocket);
    if (!guest || guest.ownEndMs <= Date.now()) request.socket.destroy();
    else handler(request, response);
  };
  const server = createHttpsServer({...shownPair(tls), ...limits}, oneByOne(onRequest));
  server.prependListener('secureConnection', (socket: TLSSocket) => {
    const shown = verifiedCertificate(socket, authority);
    const isAdmitted = shown !== undefined && admits(shown);
    if (!shown || !(isAdmitted || mayHearWhy(shown))) {
      socket.destroy();
      return;
    }
    if (!isAdmitted) setTimeout(() => socket.destroy(), hearingMs).unref();
    const ownEndMs = Date.parse(socket.getX509Certificate()?.validTo ?? '');
    const outlivedMs = shown.endMs <= Date.now() ? ownEndMs : Math.min(ownEndMs, shown.endMs);
    guests.set(socket, {shown, isAdmitted, ownEndMs, outlivedMs});
    socket.once('close', () => guests.delete(socket));
  });
  return {
    ...(await open(server, listen)),
    setCertificate: next => server.setSecureContext(shownPair(next)),
    expel() {
      for (const [socket, {shown, isAdmitted, outlivedMs}] of guests)
        if (isAdmitted && (!admits(shown) || outlivedMs + lastAnswerMs <= Date.now())) socket.destroy();
    },
  };
};

export const listenHttp = async (listen: HostPort, handler: RequestListener): Promise<Listener> => ({
  ...(await open(createHttpServer(limits, oneByOne(handler)), listen)),
  setCertificate: () => {},
});

/**
 * A request that was sent ahead (RFC 9112 section 9.3.2) waits for the answer to the one before it. Node would have it answered at
 * once, and were the connection to end first, tell nobody: what that answer was to be read from stayed open for ever.
 */
const oneByOne = (handler: RequestListener): RequestListener => {
  const begin = refuseBrokenTargets(handler);
  return (request, response) => {
    if (response.socket) begin(request, response);
    // Node goes on with this answer after that event: it must not have an end by then.
    else response.once('socket', () => process.nextTick(begin, request, response));
  };
};

const open = async (server: HttpServer | HttpsServer, {host, port}: HostPort): Promise<Pick<Listener, 'address' | 'stop'>> => {
  server.on('clientError', answerBrokenRequest);
  server.setTimeout(silenceMs);
  server.maxConnections = maxConnections;
  const connections = trackConnections(server);
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
      connections.announceEnd();
      server.closeIdleConnections();
      const lastRequest = setTimeout(connections.destroyUnused, Math.min(lastRequestMs, graceMs));
      const deadline = setTimeout(connections.destroyAll, graceMs);
      // A connection that falls idle while we wait would otherwise be waited for until its keep-alive ends.
      const idle = setInterval(() => server.closeIdleConnections(), 100);
      await closed;
      clearTimeout(lastRequest);
      clearTimeout(deadline);
      clearInterval(idle);
    },
  };
};

/**
 * Node's own closeAllConnections does not know connections that never got through the TLS handshake or sent anything. What changes with
 * each request are arrays: a map from which much is taken leaves old tables behind, and V8 keeps what those name, whole answers,
 * until it has gone through all of its heap.
 */
const trackConnections = (server: HttpServer | HttpsServer) => {
  const open = new Map<Socket, ServerResponse[]>();
  const answersByEnd = new Map<string, ServerResponse[]>();
  // The bare socket of a TLS connection and the one its requests come on have the same other end.
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
    /** Answers from now on say that the connection ends with them. */
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

// Open connections of one listener: who has shown a valid key or certificate, and what is being answered on each.
import type {Server as HttpServer, IncomingMessage, ServerResponse} from 'node:http';
import type {Server as HttpsServer} from 'node:https';
import type {Socket} from 'node:net';

export interface Connections {
  /** Tracks the connections of a server from the moment they are accepted, before any TLS handshake. Call this once. */
  track(server: HttpServer | HttpsServer): void;
  /** The client of a request or TLS connection has shown a valid key or certificate: its connection no longer counts as a stranger's. */
  trust(socket: Socket): void;
  /** From now on, answers announce the end of their connection. */
  announceEnd(): void;
  destroyUnused(): void;
  destroyAll(): void;
}

interface Connection {
  /** The raw socket of a TLS connection. */
  socket: Socket;
  /** Of the request that is being answered and those that the client has sent ahead. */
  answers: ServerResponse[];
  /** Ends the connection when no request has come in time. */
  firstRequest: NodeJS.Timeout;
}

/**
 * How many connections of strangers (clients without a valid key or certificate) may be open, and the time that a client has
 * for its TLS handshake and the head of its first request. A further stranger ends the connection of the oldest one, so that
 * strangers keep nobody out: not even those who have yet to show their key.
 */
const usualLimits = {maxStrangers: 500, firstRequestMs: 5000};
/** Limit for one connection, including the request that is being answered; a client that sends more ahead is disconnected. */
const maxRequestsAhead = 100;

/**
 * Node's own closeAllConnections misses connections that did not finish the TLS handshake or sent nothing. Data that changes with
 * each request is in arrays: a map with many deletions leaves old tables behind, and V8 keeps the answers they refer to until it
 * has collected its whole heap.
 */
export const createConnections = ({maxStrangers, firstRequestMs} = usualLimits): Connections => {
  const open = new Set<Connection>();
  const openByEnds = new Map<string, Connection>();
  /** The oldest first. */
  const strangers = new Set<Connection>();
  let isLast = false;

  const begin = (socket: Socket) => {
    const ends = endsOf(socket);
    const firstRequest = setTimeout(() => socket.destroy(), firstRequestMs).unref();
    const connection: Connection = {socket, answers: [], firstRequest};
    open.add(connection);
    openByEnds.set(ends, connection);
    strangers.add(connection);
    socket.once('close', () => {
      clearTimeout(firstRequest);
      open.delete(connection);
      strangers.delete(connection);
      if (openByEnds.get(ends) === connection) openByEnds.delete(ends);
    });
    const [oldest] = strangers;
    if (oldest && strangers.size > maxStrangers) {
      // Its event `close` comes later than the next connection.
      strangers.delete(oldest);
      oldest.socket.destroy();
    }
  };

  return {
    track(server) {
      server.on('connection', begin);
      server.prependListener('request', ({socket}: IncomingMessage, response: ServerResponse) => {
        response.shouldKeepAlive &&= !isLast;
        const connection = openByEnds.get(endsOf(socket));
        if (!connection) return;
        const {answers, firstRequest} = connection;
        clearTimeout(firstRequest);
        answers.push(response);
        if (answers.length > maxRequestsAhead) socket.destroy();
        response.once('close', () => answers.splice(answers.indexOf(response), 1));
      });
    },
    trust(socket) {
      const connection = openByEnds.get(endsOf(socket));
      if (!connection) return;
      clearTimeout(connection.firstRequest);
      strangers.delete(connection);
    },
    announceEnd() {
      isLast = true;
      for (const response of [...open].flatMap(({answers}) => answers)) response.shouldKeepAlive = false;
    },
    destroyUnused() {
      for (const {socket, answers} of open) if (answers.length === 0) socket.destroy();
    },
    destroyAll() {
      for (const {socket} of open) socket.destroy();
    },
  };
};

/**
 * The raw socket of a TLS connection and the socket of its requests have the same ends. The local address is one of them: behind
 * NAT a stranger's connection to another address of this node may have the remote end of an administrator's.
 */
const endsOf = ({remoteAddress, remotePort, localAddress}: Socket) => `${remoteAddress} ${remotePort} ${localAddress}`;

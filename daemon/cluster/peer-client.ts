// Requests to one peer over kept-alive mutual TLS. It has to show the certificate of that very node.
import type {ClientRequest, IncomingMessage} from 'node:http';
import {request} from 'node:https';
import type {Readable} from 'node:stream';
import type {z} from 'zod';
import {Fault} from '../../shared/fault.ts';
import type {NodeIdentity} from '../services/ports.ts';
import {parseSafely} from '../services/safe-parse.ts';
import {createLaneWarmer} from './connection-prewarm.ts';
import {createPeerAgents, type Lane, type PeerCredentials} from './peer-agents.ts';
import {envelopeIn, faultFrom, readBytes, unanswered, unreachable} from './peer-answer.ts';

export type {PeerCredentials} from './peer-agents.ts';

interface PeerRequest {
  method: 'GET' | 'POST';
  /** Below `/peer/v1/`, query included. */
  path: string;
  /** Sent as JSON. */
  body?: unknown;
  /** For the whole answer; of a stream, for its beginning. */
  deadlineMs: number;
  /** Asked for somebody else, who may be slow to read: keeps no connection from what the nodes say to each other. */
  isForCaller?: boolean;
  /**
   * The body is sent once the peer has said that it listens (RFC 9110 section 10.1.1). A peer that was cut off is `node_unreachable`
   * within 5 s then, over a connection that is still open on this side too, however long an answer may take.
   */
  isAnnounced?: boolean;
  /** Sent also with a certificate that has ended, to get a new one. */
  isRenewal?: boolean;
}

/**
 * Every call rejects with the Fault the peer answered with, or with `node_unreachable` when the request cannot have been
 * heard there, or with `outcome_unknown` when it may have been.
 */
export interface PeerClient {
  readonly nodeId: string;
  ask<S extends z.ZodType>(schema: S, request: PeerRequest): Promise<z.output<S>>;
  /** The answer's bytes as they come. Breaking off the reading ends the request; a caller that reads too slowly is broken off. */
  stream(request: PeerRequest): Promise<{sizeBytes: number | undefined; stream: Readable}>;
  /** Connections from now on show this certificate; those that are open end when they fall idle. */
  setCertificate(pair: PeerCredentials): void;
  /** Breaks off what is under way, and what is asked from now on. */
  close(): void;
}

interface Needs {
  peer: NodeIdentity;
  /** Asked anew for every request. */
  address(): {host: string; port: number} | undefined;
  credentials: PeerCredentials;
  limits?: typeof usualLimits;
}

/** A kept-alive connection that turned out to be closed, or dead. A fresh one that breaks is another matter: the request may have been heard. */
class StaleConnection extends Error {
  constructor(options: ErrorOptions) {
    super('the connection that was kept is of no use any more', options);
  }
}

const usualLimits = {
  maxSockets: {own: 32, callers: 256, mails: 64},
  /** The slowest that a caller may read, once the grace is over. */
  pace: {graceMs: 60_000, bytesPerSecond: 8192},
};
/** For a free connection, or for TCP and TLS of a new one, and until the peer says that it listens. */
const handshakeMs = 3000;
/** Until it says so over a kept connection. Another one may take as long as any. */
const announcedMs = 1000;

export const createPeerClient = ({peer, address, credentials, limits = usualLimits}: Needs): PeerClient => {
  const agents = createPeerAgents({peer, credentials, maxSockets: limits.maxSockets});
  const underWay: Waiting['underWay'] = new Set();
  let isClosed = false;

  const open = (lane: Lane, wanted: Omit<PeerRequest, 'deadlineMs'>, text: string | undefined): ClientRequest => {
    if (isClosed) throw unreachable(peer, 'this node does not ask it any more');
    const at = address();
    if (!at) throw unreachable(peer, 'it has not said yet where it listens');
    // The other end looks at the certificate after this one has taken the handshake to be over, and then just hangs up.
    if (agents.endMs() <= Date.now() && !wanted.isRenewal)
      throw unreachable(peer, `the certificate of this node ended at ${new Date(agents.endMs()).toISOString()}`);
    return request({
      ...at,
      agent: agents.of(lane),
      method: wanted.method,
      path: `/peer/v1/${wanted.path}`,
      headers: {
        ...(text !== undefined && {'Content-Type': 'application/json', 'Content-Length': String(Buffer.byteLength(text))}),
        ...(wanted.isAnnounced && {Expect: '100-continue'}),
      },
    });
  };

  const warmer = createLaneWarmer(lane => open(lane, {method: 'GET', path: ''}, undefined));

  const send = async (lane: Lane, wanted: PeerRequest, deadlineMs: number): Promise<IncomingMessage> => {
    const text = wanted.body === undefined ? undefined : JSON.stringify(wanted.body);
    return answerTo(open(lane, wanted, text), text, {peer, wanted, deadlineMs, underWay, onAbandoned: () => warmer.warm(lane)});
  };

  /** A kept-alive connection that the peer has closed meanwhile, or that leads nowhere, is no sign of anything: once more on another one. */
  const sendTwice = async (lane: Lane, wanted: PeerRequest, left: () => number): Promise<IncomingMessage> => {
    try {
      return await send(lane, wanted, left());
    } catch (error) {
      if (!(error instanceof Fault) || !isStaleConnection(error)) throw error;
      // What became of one became of the others, too.
      agents.endIdle(lane);
      return send(lane, wanted, left()).catch(again => {
        // The first may have been heard by a node that is gone since.
        const isUnheard = again instanceof Fault && again.code === 'node_unreachable';
        throw isUnheard && error.code === 'outcome_unknown' ? error : again;
      });
    }
  };

  return {
    nodeId: peer.nodeId,

    async ask(schema, wanted) {
      const left = leftOf(wanted);
      const response = await sendTwice(wanted.isForCaller ? 'callers' : 'own', wanted, left);
      const {data, error} = envelopeIn(peer, await readBytes(peer, response, left()));
      if (error) throw faultFrom(peer, error, response.headers);
      const parsed = parseSafely(schema, data);
      if (!parsed.success) throw unanswered(peer, new Error('the answer has another shape than expected', {cause: parsed.error}));
      return parsed.data;
    },

    async stream(wanted) {
      const left = leftOf(wanted);
      const response = await sendTwice(wanted.isForCaller ? 'mails' : 'own', wanted, left);
      if (response.statusCode === 200) {
        if (wanted.isForCaller) keepPace(response, limits.pace);
        const size = Number(response.headers['content-length'] ?? Number.NaN);
        return {sizeBytes: Number.isInteger(size) ? size : undefined, stream: response};
      }
      const {error} = envelopeIn(peer, await readBytes(peer, response, left()));
      throw error ? faultFrom(peer, error, response.headers) : unanswered(peer, new Error(`status ${response.statusCode}`));
    },

    setCertificate: agents.setCertificate,

    close() {
      isClosed = true;
      for (const one of [...underWay]) one.destroy(new Error('this node does not wait any longer'));
      agents.close();
    },
  };
};

interface Waiting {
  peer: NodeIdentity;
  wanted: Pick<PeerRequest, 'deadlineMs' | 'isAnnounced'>;
  /** What is left of that for this attempt. */
  deadlineMs: number;
  /** Everything that has to be broken off when the client is closed. */
  underWay: Set<{destroy(error: Error): unknown}>;
  /** There was, or was to be, a connection of its own, which is gone with it. */
  onAbandoned(): void;
}

/** Sends `text` and waits for the head of the answer. Rejects by itself at the deadline: what waits for a connection ends with no event. */
const answerTo = async (
  sent: ClientRequest,
  text: string | undefined,
  {peer, wanted: {deadlineMs: withinMs, isAnnounced}, deadlineMs, underWay, onAbandoned}: Waiting,
): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    let isHeard = false;
    const fail = (error: NodeJS.ErrnoException) => {
      settle();
      const cause = sent.reusedSocket && isReset(error) ? new StaleConnection({cause: error}) : error;
      if (!isHeard || isRefusedCertificate(error)) reject(unreachable(peer, error.message, cause));
      else reject(unanswered(peer, cause));
    };
    const waiting = {
      destroy(error: Error) {
        sent.destroy(error);
        fail(error);
      },
    };
    const giveUp = () => {
      const isConnected = Boolean(sent.socket);
      if (isHeard) waiting.destroy(new Error(`no answer within ${withinMs} ms`));
      else waiting.destroy(new Error(isConnected ? 'no connection in time' : 'all connections to it are in use'));
      if (isConnected) onAbandoned();
    };
    const deadline = setTimeout(giveUp, deadlineMs);
    const giveUpUnheard = () => void (isHeard || giveUp());
    let handshake = setTimeout(giveUpUnheard, Math.min(handshakeMs, deadlineMs));
    const settle = () => {
      clearTimeout(deadline);
      clearTimeout(handshake);
      underWay.delete(waiting);
    };
    underWay.add(waiting);

    sent.once('socket', socket => {
      socket.setNoDelay(true);
      if (isAnnounced) {
        if (!sent.reusedSocket) return;
        clearTimeout(handshake);
        const silent = new StaleConnection({cause: new Error(`nothing came over it within ${announcedMs} ms`)});
        handshake = setTimeout(() => void (isHeard || waiting.destroy(silent)), Math.min(announcedMs, deadlineMs));
      } else if (sent.reusedSocket) isHeard = true;
      else
        socket.once('secureConnect', () => {
          isHeard = true;
        });
    });
    sent.once('continue', () => {
      isHeard = true;
      sent.end(text);
    });
    sent.once('response', response => {
      settle();
      // Refused unheard: what is not sent to its end keeps the connection from the next.
      if (!sent.writableEnded) sent.end(text);
      underWay.add(response);
      response.once('close', () => underWay.delete(response));
      resolve(response);
    });
    sent.on('error', fail);
    if (!isAnnounced) sent.end(text);
  });

/** What is left of the request's time, never nothing. */
const leftOf = ({deadlineMs}: PeerRequest): (() => number) => {
  const endsAt = performance.now() + deadlineMs;
  return () => Math.max(1, Math.ceil(endsAt - performance.now()));
};

/** Whoever takes a mail byte by byte must not keep its connection for as long as he likes. */
const keepPace = (response: IncomingMessage, {graceMs, bytesPerSecond}: typeof usualLimits.pace): void => {
  const {socket} = response;
  const before = socket.bytesRead;
  const startedAt = performance.now();
  const timer = setInterval(
    () => {
      const permittedMs = graceMs + ((socket.bytesRead - before) / bytesPerSecond) * 1000;
      if (performance.now() - startedAt > permittedMs) response.destroy(new Error('the mail is read, or comes, too slowly'));
    },
    Math.min(1000, graceMs),
  ).unref();
  response.once('close', () => clearInterval(timer));
};

const isStaleConnection = ({details: {cause}}: Fault): boolean => cause instanceof StaleConnection;

const isReset = ({code}: NodeJS.ErrnoException): boolean => code === 'ECONNRESET' || code === 'EPIPE';

/** With TLS 1.3 the server looks at the client's certificate after the client has taken the handshake to be over. */
const isRefusedCertificate = ({code = ''}: NodeJS.ErrnoException): boolean => /^ERR_SSL_.*ALERT/.test(code);

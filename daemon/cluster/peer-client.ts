// Requests to one peer over kept-alive mutual TLS. The peer must show the certificate of exactly that node.
import type {ClientRequest, IncomingMessage} from 'node:http';
import {request} from 'node:https';
import type {Readable} from 'node:stream';
import type {z} from 'zod';
import {Fault} from '../../shared/fault.ts';
import type {NodeIdentity} from '../services/actor.ts';
import {parseSafely} from '../services/validate.ts';
import {createPeerAgents, type PeerCredentials, type PeerPool} from './peer-agents.ts';
import {
  answerTo,
  envelopeIn,
  faultFrom,
  isStaleConnection,
  leftOf,
  type PeerRequest,
  readBytes,
  unanswered,
  unreachable,
  type Waiting,
} from './peer-request.ts';

export type {PeerCredentials} from './peer-agents.ts';

/**
 * Every call rejects with the Fault of the peer's answer, or with `node_unreachable` when the peer cannot have received the
 * request, or with `outcome_unknown` when it may have.
 */
export interface PeerClient {
  readonly nodeId: string;
  ask<S extends z.ZodType>(schema: S, request: PeerRequest): Promise<z.output<S>>;
  /** Streams the answer. Destroying the stream ends the request; a reader that is too slow is cut off. */
  stream(request: PeerRequest): Promise<{sizeBytes: number | undefined; stream: Readable}>;
  /** New connections use this certificate; open ones end when they become idle. */
  setCertificate(pair: PeerCredentials): void;
  /** Aborts the current requests and rejects later ones. */
  close(): void;
}

interface Needs {
  peer: NodeIdentity;
  /** Called for every request. */
  address(): {host: string; port: number} | undefined;
  credentials: PeerCredentials;
  limits?: typeof usualLimits;
}

const usualLimits = {
  maxSockets: {own: 32, callers: 256, mails: 64},
  /** The lowest rate at which a caller may read, after the grace period. */
  pace: {graceMs: 60_000, bytesPerSecond: 8192},
};
export const createPeerClient = ({peer, address, credentials, limits = usualLimits}: Needs): PeerClient => {
  const agents = createPeerAgents({peer, credentials, maxSockets: limits.maxSockets});
  const underWay: Waiting['underWay'] = new Set();
  let isClosed = false;

  const open = (pool: PeerPool, wanted: Omit<PeerRequest, 'deadlineMs'>, text: string | undefined): ClientRequest => {
    if (isClosed) throw unreachable(peer, 'this node does not ask it any more');
    const at = address();
    if (!at) throw unreachable(peer, 'it has not said yet where it listens');
    // With TLS 1.3 the peer checks the certificate after this end has completed the handshake, and then just closes the connection.
    if (agents.endMs() <= Date.now() && !wanted.isRenewal)
      throw unreachable(peer, `the certificate of this node expired at ${new Date(agents.endMs()).toISOString()}`);
    return request({
      ...at,
      agent: agents.of(pool),
      method: wanted.method,
      path: `/peer/v1/${wanted.path}`,
      headers: {
        ...(text !== undefined && {'Content-Type': 'application/json', 'Content-Length': String(Buffer.byteLength(text))}),
        ...(wanted.isAnnounced && {Expect: '100-continue'}),
      },
    });
  };

  const prewarm = createPrewarm(pool => open(pool, {method: 'GET', path: ''}, undefined));

  const send = async (pool: PeerPool, wanted: PeerRequest, deadlineMs: number): Promise<IncomingMessage> => {
    const text = wanted.body === undefined ? undefined : JSON.stringify(wanted.body);
    return answerTo(open(pool, wanted, text), text, {peer, wanted, deadlineMs, underWay, onAbandoned: () => prewarm.warm(pool)});
  };

  /** Tries again over another connection when a kept-alive one was closed or dead: that says nothing about the peer. */
  const sendTwice = async (pool: PeerPool, wanted: PeerRequest, left: () => number): Promise<IncomingMessage> => {
    try {
      return await send(pool, wanted, left());
    } catch (error) {
      if (!(error instanceof Fault) || !isStaleConnection(error)) throw error;
      // The other idle connections are probably dead as well.
      agents.endIdle(pool);
      return send(pool, wanted, left()).catch(again => {
        // The peer may have received the first request and died since.
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
      if (!parsed.success) throw unanswered(peer, new Error('the answer does not have the expected form', {cause: parsed.error}));
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
      for (const one of [...underWay]) one.destroy(new Error('this node no longer waits'));
      agents.close();
    },
  };
};

/** Aborts a transfer that is too slow, so that it does not block a connection. */
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

// Prewarm of connections for later requests. A request is cancelled after some seconds, and its connection is closed even during the
// handshake. Without prewarm, where handshakes are slow (busy machine, slow line), no request would ever find an open connection.

/** As many as one connection pool keeps. */
const atOnce = 4;
const deadlineMs = 15_000;

/** `open` starts a request without effect, to open a connection; it may throw. */
const createPrewarm = (open: (pool: PeerPool) => ClientRequest) => {
  const underWay: Record<PeerPool, number> = {own: 0, callers: 0, mails: 0};

  const begin = (pool: PeerPool): ClientRequest | undefined => {
    try {
      return open(pool);
    } catch {
      return undefined;
    }
  };

  return {
    /** A request of this connection pool was cancelled. */
    warm(pool: PeerPool): void {
      const sent = underWay[pool] < atOnce ? begin(pool) : undefined;
      if (!sent) return;
      underWay[pool] += 1;
      const deadline = setTimeout(() => sent.destroy(), deadlineMs).unref();
      sent.once('close', () => {
        clearTimeout(deadline);
        underWay[pool] -= 1;
      });
      sent.once('response', response => response.resume());
      // The next request reports the error itself.
      sent.on('error', () => {});
      sent.end();
    },
  };
};

// Requests to one peer over kept-alive mutual TLS. It has to show the certificate of that very node.
import type {IncomingMessage} from 'node:http';
import {Agent, request} from 'node:https';
import type {Readable} from 'node:stream';
import type {PeerCertificate} from 'node:tls';
import type {z} from 'zod';
import type {Envelope} from '../../shared/envelope.ts';
import {Fault, type FaultCode, statusOfCode} from '../../shared/fault.ts';
import type {KeyAndCertificate} from './certificates.ts';
import {identityIn, type NodeIdentity} from './peer-identity.ts';

export interface PeerRequest {
  method: 'GET' | 'POST';
  /** Below `/peer/v1/`, query included. */
  path: string;
  /** Sent as JSON. */
  body?: unknown;
  /** For the whole answer; of a stream, for its beginning. */
  deadlineMs: number;
  /** Asked for somebody else, who may be slow to read: keeps no connection from what the nodes say to each other. */
  isForCaller?: boolean;
}

/**
 * Every call rejects with the Fault the peer answered with, or with `node_unreachable` when the request cannot have been
 * heard there, or with `outcome_unknown` when it may have been.
 */
export interface PeerClient {
  readonly nodeId: string;
  ask<S extends z.ZodType>(schema: S, request: PeerRequest): Promise<z.output<S>>;
  /** The answer's bytes as they come. Breaking off the reading ends the request. */
  stream(request: PeerRequest): Promise<{sizeBytes: number | undefined; stream: Readable}>;
  /** Connections from now on show this certificate; those that are open end when they fall idle. */
  setCertificate(pair: PeerCredentials): void;
  /** Breaks off what is under way. */
  close(): void;
}

export type PeerCredentials = KeyAndCertificate & {ca: string};

interface Needs {
  peer: NodeIdentity;
  /** Asked anew for every connection. */
  address(): {host: string; port: number} | undefined;
  credentials: PeerCredentials;
}

/** A kept-alive connection that turned out to be closed. A fresh one that breaks is another matter: the request may have been heard. */
class StaleConnection extends Error {
  constructor(options: ErrorOptions) {
    super('the connection had been closed', options);
  }
}

const maxSockets = 32;
/** For TCP and TLS together. */
const handshakeMs = 3000;

export const createPeerClient = ({peer, address, credentials}: Needs): PeerClient => {
  const agentWith = (pair: PeerCredentials) =>
    new Agent({
      keepAlive: true,
      maxSockets,
      maxFreeSockets: 4,
      // Shorter than the peer's own keep-alive, so that no request meets a connection that is being closed.
      timeout: 30_000,
      ...pair,
      minVersion: 'TLSv1.3',
      servername: '',
      checkServerIdentity: (_host, certificate) => refuseStranger(peer, certificate),
    });
  const agentsWith = (pair: PeerCredentials) => ({own: agentWith(pair), callers: agentWith(pair)});
  let agents = agentsWith(credentials);

  const send = async ({method, path, body, deadlineMs, isForCaller = false}: PeerRequest): Promise<IncomingMessage> => {
    const at = address();
    if (!at) throw unreachable(peer, 'it has not said yet where it listens');
    const text = body === undefined ? undefined : JSON.stringify(body);
    return new Promise((resolve, reject) => {
      let isHeard = false;
      const sent = request({
        ...at,
        agent: isForCaller ? agents.callers : agents.own,
        method,
        path: `/peer/v1/${path}`,
        headers:
          text === undefined ? {} : {'Content-Type': 'application/json', 'Content-Length': String(Buffer.byteLength(text))},
      });
      const deadline = setTimeout(() => sent.destroy(new Error(`no answer within ${deadlineMs} ms`)), deadlineMs);
      const handshake = setTimeout(
        () => {
          if (!isHeard) sent.destroy(new Error('no connection'));
        },
        Math.min(handshakeMs, deadlineMs),
      );
      const settle = () => {
        clearTimeout(deadline);
        clearTimeout(handshake);
      };
      sent.once('socket', socket => {
        socket.setNoDelay(true);
        if (sent.reusedSocket) isHeard = true;
        else
          socket.once('secureConnect', () => {
            isHeard = true;
          });
      });
      sent.once('response', response => {
        settle();
        resolve(response);
      });
      sent.once('error', (error: NodeJS.ErrnoException) => {
        settle();
        if (!isHeard || isRefusedCertificate(error)) reject(unreachable(peer, error.message, error));
        else reject(unanswered(peer, sent.reusedSocket && isReset(error) ? new StaleConnection({cause: error}) : error));
      });
      sent.end(text);
    });
  };

  /** A kept-alive connection that the peer has closed meanwhile is no sign of anything: once more on another one. */
  const sendTwice = async (wanted: PeerRequest): Promise<IncomingMessage> => {
    try {
      return await send(wanted);
    } catch (error) {
      if (!(error instanceof Fault) || !isStaleConnection(error)) throw error;
      return send(wanted).catch(again => {
        // The first may have been heard by a node that is gone since.
        throw again instanceof Fault && again.code === 'node_unreachable' ? error : again;
      });
    }
  };

  return {
    nodeId: peer.nodeId,

    async ask(schema, wanted) {
      const startedAt = performance.now();
      const response = await sendTwice(wanted);
      const left = wanted.deadlineMs - (performance.now() - startedAt);
      const {data, error} = await readEnvelope(peer, response, left);
      if (error) throw faultFrom(peer, error);
      const parsed = schema.safeParse(data);
      if (!parsed.success) throw unanswered(peer, new Error('the answer has another shape than expected', {cause: parsed.error}));
      return parsed.data;
    },

    async stream(wanted) {
      const response = await sendTwice(wanted);
      if (response.statusCode === 200) {
        const size = Number(response.headers['content-length'] ?? Number.NaN);
        return {sizeBytes: Number.isInteger(size) ? size : undefined, stream: response};
      }
      const {error} = await readEnvelope(peer, response, wanted.deadlineMs);
      throw error ? faultFrom(peer, error) : unanswered(peer, new Error(`status ${response.statusCode}`));
    },

    setCertificate(pair) {
      const before = agents;
      agents = agentsWith(pair);
      for (const agent of Object.values(before)) {
        agent.maxFreeSockets = 0;
        for (const sockets of Object.values(agent.freeSockets)) for (const socket of sockets ?? []) socket.destroy();
      }
    },

    close() {
      for (const agent of Object.values(agents)) agent.destroy();
    },
  };
};

const refuseStranger = ({nodeId, nodeNo}: NodeIdentity, certificate: PeerCertificate): Error | undefined => {
  const shown = identityIn(certificate.subjectaltname);
  if (shown?.nodeId === nodeId && shown.nodeNo === nodeNo) return undefined;
  return new Error(`the certificate there is not the one of ${nodeId}`);
};

const maxAnswerBytes = 64 * 1024 * 1024;

const readEnvelope = async (peer: NodeIdentity, response: IncomingMessage, deadlineMs: number): Promise<Envelope<unknown>> => {
  const deadline = setTimeout(() => response.destroy(new Error('the answer took too long')), Math.max(1, deadlineMs));
  try {
    const chunks: Buffer[] = [];
    let length = 0;
    for await (const chunk of response as AsyncIterable<Buffer>) {
      length += chunk.length;
      if (length > maxAnswerBytes) throw new Error('the answer is too long');
      chunks.push(chunk);
    }
    return JSON.parse(Buffer.concat(chunks).toString('utf8')) as Envelope<unknown>;
  } catch (error) {
    throw unanswered(peer, error);
  } finally {
    clearTimeout(deadline);
  }
};

/** What a peer refuses for its own reasons is passed on; what only nodes say to each other is not for callers. */
const faultFrom = (peer: NodeIdentity, error: NonNullable<Envelope<unknown>['error']>): Fault => {
  const {code, detail, fields} = error;
  if (code === 'internal' || !Object.hasOwn(statusOfCode, code)) return unanswered(peer, new Error(`${code}: ${detail}`));
  return new Fault(code as FaultCode, detail, {
    ...(fields && {fields}),
    ...(error.required_scopes && {requiredScopes: error.required_scopes}),
    ...((code === 'unavailable' || code === 'node_unreachable') && {retryAfterSeconds: 5}),
  });
};

const unreachable = ({nodeId}: NodeIdentity, why: string, cause?: unknown): Fault =>
  new Fault('node_unreachable', `node ${nodeId} cannot be reached (${why}); nothing was done, try again later`, {
    cause,
    retryAfterSeconds: 5,
  });

const unanswered = ({nodeId}: NodeIdentity, cause: unknown): Fault =>
  new Fault('outcome_unknown', `node ${nodeId} was asked and did not answer; repeating the request is safe`, {cause});

const isStaleConnection = ({details: {cause}}: Fault): boolean => cause instanceof StaleConnection;

const isReset = ({code}: NodeJS.ErrnoException): boolean => code === 'ECONNRESET' || code === 'EPIPE';

/** With TLS 1.3 the server looks at the client's certificate after the client has taken the handshake to be over. */
const isRefusedCertificate = ({code = ''}: NodeJS.ErrnoException): boolean => /^ERR_SSL_.*ALERT/.test(code);

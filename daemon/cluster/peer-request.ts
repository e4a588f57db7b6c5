// Single request to a peer, until the head of the answer arrives: deadlines, and whether the peer can have received it.
import type {ClientRequest, IncomingHttpHeaders, IncomingMessage} from 'node:http';
import {z} from 'zod';
import {Fault, type FaultCode, statusOfCode} from '../../shared/fault.ts';
import type {NodeIdentity} from '../services/actor.ts';

export interface PeerRequest {
  method: 'GET' | 'POST';
  /** Below `/peer/v1/`, query included. */
  path: string;
  /** Sent as JSON. */
  body?: unknown;
  /** For the whole answer, or for the beginning of a stream. */
  deadlineMs: number;
  /** Sent for an API caller, who may read slowly: uses other connections than the traffic between the nodes. */
  isForCaller?: boolean;
  /**
   * The body is sent after the peer's 100 (Continue) (RFC 9110 section 10.1.1). A peer that was cut off is then `node_unreachable`
   * within 5 s, even over a connection that is still open on this side, and however long an answer may take.
   */
  isAnnounced?: boolean;
  /** Sent even with an expired certificate, to get a new one. */
  isRenewal?: boolean;
}

/** A kept-alive connection that turned out to be closed or dead. When a new one breaks, the peer may have received the request. */
class StaleConnection extends Error {
  constructor(options: ErrorOptions) {
    super('the connection that was kept is of no use any more', options);
  }
}

/** Limit for a free connection, or for TCP and TLS of a new one, and for the 100 (Continue) of the peer. */
const handshakeMs = 3000;
/** Limit for the 100 (Continue) over a kept-alive connection. The second attempt has `handshakeMs`. */
const announcedMs = 1000;

export interface Waiting {
  peer: NodeIdentity;
  wanted: Pick<PeerRequest, 'deadlineMs' | 'isAnnounced'>;
  /** The remaining time for this attempt. */
  deadlineMs: number;
  /** Requests and answers to abort when the client is closed. */
  underWay: Set<{destroy(error: Error): unknown}>;
  /** Called when the request timed out and its own connection was closed with it. */
  onAbandoned(): void;
}

/** Sends `text` and waits for the head of the answer. Rejects at the deadline: a request that waits for a connection ends without an event. */
export const answerTo = async (
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
      // Refused before the body was sent: an incomplete request would block the connection for the next one.
      if (!sent.writableEnded) sent.end(text);
      underWay.add(response);
      response.once('close', () => underWay.delete(response));
      resolve(response);
    });
    sent.on('error', fail);
    if (!isAnnounced) sent.end(text);
  });

/** The remaining time of the request, at least 1 ms. */
export const leftOf = ({deadlineMs}: PeerRequest): (() => number) => {
  const endsAt = performance.now() + deadlineMs;
  return () => Math.max(1, Math.ceil(endsAt - performance.now()));
};

export const isStaleConnection = ({details: {cause}}: Fault): boolean => cause instanceof StaleConnection;

const isReset = ({code}: NodeJS.ErrnoException): boolean => code === 'ECONNRESET' || code === 'EPIPE';

/** With TLS 1.3 the server checks the client's certificate after the client has completed the handshake. */
const isRefusedCertificate = ({code = ''}: NodeJS.ErrnoException): boolean => /^ERR_SSL_.*ALERT/.test(code);

const maxAnswerBytes = 64 * 1024 * 1024;

/** The members of an envelope that are read. A peer may send anything, such as `null`; other members are ignored. */
const envelopeSchema = z.object({
  data: z.unknown(),
  error: z
    .object({
      code: z.string(),
      detail: z.string(),
      fields: z.array(z.object({path: z.string(), detail: z.string()})).optional(),
      required_scopes: z.array(z.string()).optional(),
    })
    .nullable(),
});
type PeerEnvelope = z.output<typeof envelopeSchema>;

/** Rejects with `outcome_unknown` unless the whole answer arrives before the deadline. */
export const readBytes = async (peer: NodeIdentity, response: IncomingMessage, deadlineMs: number): Promise<Buffer> => {
  const deadline = setTimeout(() => response.destroy(new Error('the answer took too long')), Math.max(1, deadlineMs));
  try {
    const chunks: Buffer[] = [];
    let length = 0;
    for await (const chunk of response as AsyncIterable<Buffer>) {
      length += chunk.length;
      if (length > maxAnswerBytes) throw new Error('the answer is too long');
      chunks.push(chunk);
    }
    return Buffer.concat(chunks);
  } catch (error) {
    throw unanswered(peer, error);
  } finally {
    clearTimeout(deadline);
  }
};

/** Throws `outcome_unknown` for anything but an envelope. */
export const envelopeIn = (peer: NodeIdentity, bytes: Buffer): PeerEnvelope => {
  try {
    return envelopeSchema.parse(JSON.parse(bytes.toString('utf8')));
  } catch (error) {
    throw unanswered(peer, error);
  }
};

/** The Fault of a refusal. `internal` and unknown codes become `outcome_unknown`. */
export const faultFrom = (
  peer: NodeIdentity,
  error: NonNullable<PeerEnvelope['error']>,
  {'retry-after': retryAfter}: IncomingHttpHeaders,
): Fault => {
  const {code, detail, fields} = error;
  if (code === 'internal' || !Object.hasOwn(statusOfCode, code)) return unanswered(peer, new Error(`${code}: ${detail}`));
  return new Fault(code as FaultCode, detail, {
    ...(fields && {fields}),
    ...(error.required_scopes && {requiredScopes: error.required_scopes}),
    ...((code === 'unavailable' || code === 'node_unreachable') && {retryAfterSeconds: wholeSeconds(retryAfter) ?? 5}),
  });
};

/** Ignores Retry-After values of 1000 s or more, which concern the two nodes only. */
const wholeSeconds = (text: string | undefined): number | undefined =>
  text !== undefined && /^\d{1,3}$/.test(text) ? Number(text) : undefined;

export const unreachable = ({nodeId}: NodeIdentity, why: string, cause?: unknown): Fault =>
  new Fault('node_unreachable', `node ${nodeId} cannot be reached (${why}); nothing was done, try again later`, {
    cause,
    retryAfterSeconds: 5,
  });

export const unanswered = ({nodeId}: NodeIdentity, cause: unknown): Fault =>
  new Fault('outcome_unknown', `node ${nodeId} was asked and did not answer; repeating the request is safe`, {cause});

// One request to a peer, until the head of the answer has come: deadlines, and whether the peer can have heard it.

import type {ClientRequest, IncomingMessage} from 'node:http';
import type {Fault} from '../../shared/fault.ts';
import type {NodeIdentity} from '../services/access/actor.ts';
import {unanswered, unreachable} from './peer-answer.ts';

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
  /**
   * The body is sent once the peer has said that it listens (RFC 9110 section 10.1.1). A peer that was cut off is `node_unreachable`
   * within 5 s then, over a connection that is still open on this side too, however long an answer may take.
   */
  isAnnounced?: boolean;
  /** Sent also with a certificate that has ended, to get a new one. */
  isRenewal?: boolean;
}

/** A kept-alive connection that turned out to be closed, or dead. A fresh one that breaks is another matter: the request may have been heard. */
class StaleConnection extends Error {
  constructor(options: ErrorOptions) {
    super('the connection that was kept is of no use any more', options);
  }
}

/** For a free connection, or for TCP and TLS of a new one, and until the peer says that it listens. */
const handshakeMs = 3000;
/** Until it says so over a kept connection. Another one may take as long as any. */
const announcedMs = 1000;

export interface Waiting {
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
export const leftOf = ({deadlineMs}: PeerRequest): (() => number) => {
  const endsAt = performance.now() + deadlineMs;
  return () => Math.max(1, Math.ceil(endsAt - performance.now()));
};

export const isStaleConnection = ({details: {cause}}: Fault): boolean => cause instanceof StaleConnection;

const isReset = ({code}: NodeJS.ErrnoException): boolean => code === 'ECONNRESET' || code === 'EPIPE';

/** With TLS 1.3 the server looks at the client's certificate after the client has taken the handshake to be over. */
const isRefusedCertificate = ({code = ''}: NodeJS.ErrnoException): boolean => /^ERR_SSL_.*ALERT/.test(code);

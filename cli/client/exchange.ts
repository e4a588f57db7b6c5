// HTTPS exchange: one request over a kept-alive connection, and its answer as it arrives. It uses Node's own client, which is
// already loaded: loading a library would take longer than most commands do.
import type {IncomingMessage} from 'node:http';
import type {AgentOptions} from 'node:https';
import type {TLSSocket} from 'node:tls';
import {readUpTo} from '../command-line/read-up-to.ts';

/** Resolves once the answer has begun. */
type Exchange = (url: URL, request: Outgoing) => Promise<IncomingMessage>;

interface Outgoing {
  method: string;
  headers: Record<string, string>;
  body: string | undefined;
  /** When it aborts, so does the request, with an error of Node. */
  signal: AbortSignal | undefined;
  /** Another node is available: a slow connection times out sooner. */
  isHurried?: boolean;
  /** Limits the wait for the answer's first byte: 90 s by default. */
  silenceMs?: number | undefined;
}

/** The answer is longer than `maxBodyBytes`. */
export class TooLongAnswer extends Error {}

/** Fits a thousand mails with a thousand recipients each. */
const maxBodyBytes = 256 * 1024 * 1024;

/** Limits for DNS and the connection, and for the handshake. */
const deadlines = {connect: 10_000, handshake: 10_000};
const hurriedDeadlines = {connect: 3000, handshake: 5000};
/** Limit for silence before and within the answer. */
const defaultSilenceMs = 90_000;
/** Limit for the whole answer: one that trickles byte by byte would never exceed the limit for silence. */
const wholeAnswerMs = 5 * 60_000;

/**
 * `ca` in PEM in place of what Node trusts. Rejects with the error of Node, and with `ETIMEDOUT` for what takes too long. The error has
 * `isUnsent` when nothing of the request was sent, which begins after the TLS handshake, and with `shownNames` of the server's certificate.
 */
export const createExchange = async (tls: Pick<AgentOptions, 'ca' | 'allowPartialTrustChain'>): Promise<Exchange> => {
  const {Agent, request} = await import('node:https');
  const agent = new Agent({keepAlive: true, ...tls});

  const exchange: Exchange = async (url, outgoing) => {
    const {method, headers, body, signal, isHurried, silenceMs = defaultSilenceMs} = outgoing;
    const {connect, handshake} = isHurried ? hurriedDeadlines : deadlines;
    let isKept = false;
    let isSent = false;
    let shownNames: string | undefined;
    let timer: NodeJS.Timeout | undefined;
    try {
      return await new Promise<IncomingMessage>((resolve, reject) => {
        const sent = request(url, {method, headers, agent, ...(signal && {signal})}, resolve);
        const waitFor = (ms: number): void => {
          clearTimeout(timer);
          timer = setTimeout(() => sent.destroy(tooLate()), ms);
        };
        sent.on('error', reject);
        sent.once('socket', socket => {
          isKept = sent.reusedSocket;
          isSent = !socket.connecting;
          waitFor(socket.connecting ? connect : silenceMs);
          // A kept-alive socket has opened before: these listeners would never run and would pile up.
          if (!socket.connecting) return;
          socket.once('connect', () => waitFor(handshake));
          socket.once('secureConnect', () => {
            isSent = true;
            // A socket that is destroyed no longer knows.
            shownNames = (socket as TLSSocket).getPeerX509Certificate()?.subjectAltName;
            waitFor(silenceMs);
          });
        });
        sent.end(body);
      });
    } catch (error) {
      // The other side may end a kept-alive connection at any time, which says nothing about the node. Repeating a read does no
      // harm; a change may have been received (RFC 9110, section 9.2.2).
      if (isKept && method === 'GET' && ['ECONNRESET', 'EPIPE'].includes((error as NodeJS.ErrnoException).code ?? ''))
        return await exchange(url, outgoing);
      throw Object.assign(error as Error, {...(shownNames !== undefined && {shownNames}), ...(!isSent && {isUnsent: true})});
    } finally {
      clearTimeout(timer);
    }
  };
  return exchange;
};

const tooLate = (): Error => Object.assign(new Error('no answer in time'), {code: 'ETIMEDOUT'});

/** Fails with `ETIMEDOUT` when nothing arrives for `silenceMs`. The time that the reader takes for a chunk does not count. */
export async function* chunksOf(response: IncomingMessage, silenceMs = defaultSilenceMs): AsyncIterable<Buffer> {
  const chunks = response[Symbol.asyncIterator]();
  try {
    for (;;) {
      const timer = setTimeout(() => response.destroy(tooLate()), silenceMs);
      const {done, value} = await chunks.next().finally(() => clearTimeout(timer));
      if (done) return;
      yield value as Buffer;
    }
  } finally {
    response.destroy();
  }
}

/** `startedAt` is the time of the request, as `performance.now()` has it. */
export const wholeBodyOf = async (response: IncomingMessage, startedAt: number, silenceMs?: number): Promise<Buffer> => {
  const leftMs = wholeAnswerMs - (performance.now() - startedAt);
  const timer = setTimeout(() => response.destroy(tooLate()), leftMs);
  const body = await readUpTo(chunksOf(response, silenceMs), maxBodyBytes).finally(() => clearTimeout(timer));
  if (body.length > maxBodyBytes) throw new TooLongAnswer();
  return body;
};

// One request and its whole answer, over a connection that is kept for the next one. Node's own client, as it is there already:
// what commands do once takes less time than a library for it takes to load.
import type {IncomingHttpHeaders, IncomingMessage} from 'node:http';
import type {AgentOptions} from 'node:https';
import type {Socket} from 'node:net';

export type Exchange = (url: URL, request: Outgoing) => Promise<Incoming>;

export interface Outgoing {
  method: string;
  headers: Record<string, string>;
  body: string | undefined;
  /** When it aborts, so does the request, with an error of its own. */
  signal: AbortSignal | undefined;
  /** There is another node to ask: a slow connection is given up sooner. */
  isHurried?: boolean;
  /** How long the answer may take to begin, and then to go on: 90 s by default. */
  silenceMs?: number | undefined;
}

export interface Incoming {
  status: number;
  headers: IncomingHttpHeaders;
  body: Buffer;
  ms: number;
}

/** More than `maxBodyBytes` came. */
export class TooLongAnswer extends Error {}

/** A thousand mails with a thousand recipients each have room in it. */
const maxBodyBytes = 256 * 1024 * 1024;

/** A look-up and a connection, then the handshake, then the beginning of an answer; and how long nothing may come of it. */
const deadlines = {connect: 10_000, handshake: 10_000, silence: 90_000};
const hurriedDeadlines = {...deadlines, connect: 3000, handshake: 5000};
/** Of a whole answer, as one that comes byte by byte would never be too late for any of its bytes. */
const wholeAnswerMs = 5 * 60_000;

/**
 * `ca` in PEM in place of what Node trusts. Rejects with the error of Node, and with `ETIMEDOUT` for what takes too long. The error has
 * `isUnsent` when nothing of the request was sent, which begins after the TLS handshake.
 */
export const createExchange = async (tls: Pick<AgentOptions, 'ca' | 'allowPartialTrustChain'>): Promise<Exchange> => {
  const {Agent, request} = await import('node:https');
  const agent = new Agent({keepAlive: true, ...tls});

  const exchange: Exchange = async (url, outgoing) => {
    const {method, headers, body, signal, isHurried, silenceMs = deadlines.silence} = outgoing;
    const startedAt = performance.now();
    let isKept = false;
    let isSent = false;
    try {
      const answer = await new Promise<Omit<Incoming, 'ms'>>((resolve, reject) => {
        const sent = request(url, {method, headers, agent, ...(signal && {signal})}, response => {
          isKept = false;
          void wholeOf(response, () => deadline.next(silenceMs)).then(resolve, reject);
        });
        const deadline = startDeadline(error => sent.destroy(error));
        sent.once('error', reject).once('close', deadline.stop);
        sent.once('socket', socket => {
          isKept = sent.reusedSocket;
          isSent = !socket.connecting;
          const onOpen = () => {
            isSent = true;
          };
          watchOpening(socket, deadline, {...(isHurried ? hurriedDeadlines : deadlines), silence: silenceMs, onOpen});
        });
        sent.end(body);
      });
      return {...answer, ms: performance.now() - startedAt};
    } catch (error) {
      // What was kept from before may be ended by the other side at any time, which says nothing of the node. To ask once more does no
      // harm; what changes something may have been heard (RFC 9110, section 9.2.2).
      if (isKept && method === 'GET' && ['ECONNRESET', 'EPIPE'].includes((error as NodeJS.ErrnoException).code ?? ''))
        return exchange(url, outgoing);
      throw isSent ? error : Object.assign(error as Error, {isUnsent: true});
    }
  };
  return exchange;
};

interface Deadline {
  /** What is under way now may take so long from now on. */
  next(ms: number): void;
  stop(): void;
}

const startDeadline = (giveUp: (error: Error) => void): Deadline => {
  const tooLate = () => giveUp(Object.assign(new Error('no answer in time'), {code: 'ETIMEDOUT'}));
  const whole = setTimeout(tooLate, wholeAnswerMs);
  let part: NodeJS.Timeout | undefined;
  return {
    next(ms) {
      clearTimeout(part);
      part = setTimeout(tooLate, ms);
    },
    stop() {
      clearTimeout(whole);
      clearTimeout(part);
    },
  };
};

type Opening = typeof deadlines & {onOpen(): void};

const watchOpening = (socket: Socket, {next}: Deadline, {connect, handshake, silence, onOpen}: Opening): void => {
  next(socket.connecting ? connect : silence);
  // Kept from the request before, it would keep these too: nothing of its opening comes again.
  if (!socket.connecting) return;
  socket.once('connect', () => next(handshake));
  socket.once('secureConnect', () => {
    onOpen();
    next(silence);
  });
};

const wholeOf = async (response: IncomingMessage, onPart: () => void): Promise<Omit<Incoming, 'ms'>> => {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response) {
    onPart();
    bytes += (chunk as Buffer).length;
    if (bytes > maxBodyBytes) throw new TooLongAnswer();
    chunks.push(chunk as Buffer);
  }
  return {status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks)};
};

// HTTPS exchange: one request and its whole answer, over a kept-alive connection. It uses Node's own client, which is already
// loaded: loading a library would take longer than most commands do.
import type {IncomingHttpHeaders, IncomingMessage} from 'node:http';
import type {AgentOptions} from 'node:https';
import type {Socket} from 'node:net';

type Exchange = (url: URL, request: Outgoing) => Promise<Incoming>;

interface Outgoing {
  method: string;
  headers: Record<string, string>;
  body: string | undefined;
  /** When it aborts, so does the request, with an error of Node. */
  signal: AbortSignal | undefined;
  /** Another node is available: a slow connection times out sooner. */
  isHurried?: boolean;
  /** Limits the wait for the answer's first byte, and for each next one: 90 s by default. */
  silenceMs?: number | undefined;
}

export interface Incoming {
  status: number;
  headers: IncomingHttpHeaders;
  body: Buffer;
  ms: number;
}

/** The answer is longer than `maxBodyBytes`. */
export class TooLongAnswer extends Error {}

/** Fits a thousand mails with a thousand recipients each. */
const maxBodyBytes = 256 * 1024 * 1024;

/** Limits for DNS and the connection, for the handshake, and for silence before and within the answer. */
const deadlines = {connect: 10_000, handshake: 10_000, silence: 90_000};
const hurriedDeadlines = {...deadlines, connect: 3000, handshake: 5000};
/** Limit for the whole answer: one that trickles byte by byte would never exceed the limit for silence. */
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
      // The other side may end a kept-alive connection at any time, which says nothing about the node. Repeating a read does no
      // harm; a change may have been received (RFC 9110, section 9.2.2).
      if (isKept && method === 'GET' && ['ECONNRESET', 'EPIPE'].includes((error as NodeJS.ErrnoException).code ?? ''))
        return exchange(url, outgoing);
      throw isSent ? error : Object.assign(error as Error, {isUnsent: true});
    }
  };
  return exchange;
};

interface Deadline {
  /** Restarts the clock, with so long for the part that begins now. */
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
  // A kept-alive socket has opened before: these listeners would never run and would pile up.
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

/** Half a sentence for a person; undefined when nothing is deprecated. `asked` is used when the answer names no feature. */
export const deprecationIn = (headers: IncomingHttpHeaders, asked: string): string | undefined => {
  if (headers.deprecation === undefined) return undefined;
  const names = String(headers['x-deprecated'] ?? asked).split(', ');
  const since = dayOf(Number(/^@(\d{1,12})$/.exec(headers.deprecation as string)?.[1]) * 1000);
  const sunset = dayOf(Date.parse(String(headers.sunset)));
  const [is, goes] = names.length > 1 ? ['are', 'go'] : ['is', 'goes'];
  return [
    `${names.join(' and ')} ${is} deprecated`,
    ...(since === undefined ? [] : [` since ${since}`]),
    ...(sunset === undefined ? [] : [`, and ${goes} away on ${sunset}`]),
  ].join('');
};

/** The day in UTC, as in the API's description. Undefined for anything that is no time, or is after the year 9999. */
const dayOf = (ms: number): string | undefined => {
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) ? undefined : /^\d{4}-\d\d-\d\d/.exec(date.toISOString())?.[0];
};

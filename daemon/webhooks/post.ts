// Requests to the addresses of webhooks. An administrator chooses the address, and the receiver may do anything: no private network is
// reached, nothing of an answer but its status is kept, and no request takes long.
import {isIP, type Socket} from 'node:net';
import {Agent, buildConnector, type Dispatcher, errors, request} from 'undici';
import {isPublicAddress} from '../../shared/public-address.ts';
import {startTimeLimit} from '../services/semaphore.ts';
import {type PostResult, requestsAtOnce, type WebhookTransport} from '../services/webhooks/webhook-transport.ts';
import {AddressRefusal, judgedLookup, type Resolve, resolveName} from './judged-lookup.ts';

interface Networks {
  contains(address: string): boolean;
}

interface Needs {
  /** That are allowed besides public addresses; another object after a change of the setting. */
  networks(): Networks;
  limits?: typeof usualLimits;
  resolve?: Resolve;
  /** In PEM, instead of the authorities that Node.js knows. */
  ca?: string;
}

/** `readMs`: for the rest of an answer, after its status. */
const usualLimits = {answerMs: 15_000, readMs: 1000, readBytes: 16_384};
/** Answers with a status below 200, before the one that counts. */
const mostInterim = 20;
const headerBytes = 8192;
const pieceBytes = 1024;

export const createWebhookTransport = (needs: Needs): WebhookTransport => ({
  open() {
    let current: {networks: Networks; agents: Agents} | undefined;
    const agentsNow = (): Agents => {
      const networks = needs.networks();
      if (current?.networks === networks) return current.agents;
      current?.agents.close();
      current = {networks, agents: openAgents(needs, networks)};
      return current.agents;
    };
    return {
      post: createPost(agentsNow, needs.limits),
      close: () => current?.agents.close(),
    };
  },
});

interface Agents {
  for(url: URL): Dispatcher;
  close(): void;
}

/** Plain HTTP and HTTPS may reach different addresses. */
const openAgents = ({resolve = resolveName, ca, limits = usualLimits}: Needs, networks: Networks): Agents => {
  const open = (refusalOf: (address: string) => string | undefined) => ({
    refusalOf,
    agent: new Agent({
      connections: requestsAtOnce,
      maxHeaderSize: headerBytes,
      // Not as NODE_TLS_REJECT_UNAUTHORIZED in the environment says.
      connect: readingInPieces({
        ...{lookup: judgedLookup(resolve, refusalOf), timeout: limits.answerMs, rejectUnauthorized: true},
        ...(ca !== undefined && {ca}),
      }),
    }),
  });
  const agents = {
    plain: open(address => (networks.contains(address) ? undefined : `${address} is not in webhooks.allow_networks`)),
    encrypted: open(address =>
      isPublicAddress(address) || networks.contains(address)
        ? undefined
        : `${address} is not a public address, and not in webhooks.allow_networks`,
    ),
  };
  return {
    for({protocol, hostname}) {
      const {agent, refusalOf} = protocol === 'https:' ? agents.encrypted : agents.plain;
      const host = hostname.replace(/^\[|\]$/g, '');
      // Sockets resolve names only.
      const refusal = isIP(host) === 0 ? undefined : refusalOf(host);
      if (refusal !== undefined) throw new AddressRefusal(refusal);
      return agent;
    },
    close() {
      // Requests under way end first.
      for (const {agent} of Object.values(agents)) agent.close().catch(() => {});
    },
  };
};

/**
 * undici reads on in what a socket has given it after it has given up on an answer, and makes an error of each further header field: 64 KB of
 * them would take all else 0.1 s.
 */
const readingInPieces = (options: buildConnector.BuildOptions): buildConnector.connector => {
  const connect = buildConnector(options);
  return (wanted, done) =>
    connect(wanted, (...result) => {
      const [, socket] = result;
      if (socket) readInPieces(socket);
      done(...result);
    });
};

const readInPieces = (socket: Socket): void => {
  const read = socket.read.bind(socket);
  socket.read = () => (socket.destroyed ? null : read(Math.min(socket.readableLength, pieceBytes)));
};

const createPost =
  (agentsNow: () => Agents, limits = usualLimits): ReturnType<WebhookTransport['open']>['post'] =>
  async ({url, headers, body, signal}) => {
    const begunAt = performance.now();
    const limit = startTimeLimit(limits.answerMs, signal);
    const result = async (): Promise<Omit<PostResult, 'took_ms'>> => {
      try {
        const dispatcher = agentsNow().for(new URL(url));
        const answer = await request(url, {
          ...{method: 'POST', headers, body, dispatcher},
          ...{signal: limit.signal, onInfo: countInterim()},
        });
        await discard(answer.body, limits, limit.signal);
        const {statusCode: status} = answer;
        return {status, error: statusError(status), retryAfterMs: retryAfterIn(status, answer.headers['retry-after'])};
      } catch (error) {
        return {status: null, error: limit.signal.aborted ? `no answer within ${limits.answerMs / 1000} s` : errorText(error)};
      }
    };
    try {
      return {...(await result()), took_ms: Math.round(performance.now() - begunAt)};
    } finally {
      limit.end();
    }
  };

/** A flood of them would keep the process busy. What it throws ends the request. */
const countInterim = (): (() => void) => {
  let count = 0;
  return () => {
    count += 1;
    if (count > mostInterim) throw new errors.HTTPParserError('interim answers without end');
  };
};

/** An answer that is too long or too slow ends its connection. */
const discard = async (
  body: Dispatcher.ResponseData['body'],
  {readMs, readBytes}: typeof usualLimits,
  signal: AbortSignal,
): Promise<void> => {
  const limit = startTimeLimit(readMs, signal);
  try {
    await body.dump({limit: readBytes, signal: limit.signal});
  } catch {
    // Its status counts.
  } finally {
    limit.end();
  }
};

const statusError = (status: number): string | null => {
  if (status >= 200 && status < 300) return null;
  return status >= 300 && status < 400 ? `it answered ${status}; redirects are not followed` : `it answered ${status}`;
};

/** Seconds, or a time (RFC 9110 section 10.2.3). */
const retryAfterIn = (status: number, value: string | string[] | undefined): number | undefined => {
  if ((status !== 429 && status !== 503) || typeof value !== 'string') return undefined;
  const ms = /^\d{1,9}$/.test(value) ? Number(value) * 1000 : Date.parse(value) - Date.now();
  return ms > 0 ? ms : undefined;
};

const texts: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'the connection was refused',
  ECONNRESET: 'the connection was reset',
  ENOTFOUND: 'the name has no address',
  ENODATA: 'the name has no address',
  ETIMEOUT: 'its name servers do not answer',
  ESERVFAIL: 'its name servers fail',
  EHOSTUNREACH: 'the host cannot be reached',
  ENETUNREACH: 'the network cannot be reached',
  ETIMEDOUT: 'the connection timed out',
  UND_ERR_CONNECT_TIMEOUT: 'the connection timed out',
  UND_ERR_SOCKET: 'the connection was closed without an answer',
};

/** Messages of errors quote certificates and answers of the receiver, so only their codes are shown. */
const errorText = (error: unknown): string => {
  if (error instanceof AddressRefusal) return error.message;
  if (error instanceof errors.HTTPParserError) return 'its answer is not HTTP/1.1';
  const code = String((error as NodeJS.ErrnoException).code ?? '');
  if (Object.hasOwn(texts, code)) return texts[code] ?? code;
  return /^[A-Z0-9_]{1,60}$/.test(code) ? `the request failed: ${code}` : 'the request failed';
};

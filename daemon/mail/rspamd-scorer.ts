import {Agent, type IncomingMessage, type OutgoingHttpHeaders, request} from 'node:http';
import {pipeline} from 'node:stream';
import {Fault} from '../../shared/fault.ts';
import type {MailContent, ReceivedMail, Score} from '../services/mail.ts';
import type {Scorer} from '../services/ports.ts';
import {scoreOfAnswer} from './rspamd-answer.ts';

export interface RspamdOptions {
  /** Where a normal worker listens, such as http://127.0.0.1:11333. */
  url: string;
  password?: string;
  /** For one mail, everything included. */
  timeoutMs?: number;
  maxConnections?: number;
}

export interface RspamdScorer extends Scorer {
  /** Ends the kept-alive connections, and with them what is under way. */
  close(): void;
}

/**
 * Asks Rspamd (3.4 or later) over its HTTP protocol. A connection that fails is tried once more, as a kept-alive one may have
 * been closed under us; a passed deadline is not, as Rspamd would do the same work again.
 */
export const createRspamdScorer = ({url, password, timeoutMs = 15_000, maxConnections = 32}: RspamdOptions): RspamdScorer => {
  const target = new URL('checkv2', url.endsWith('/') ? url : `${url}/`);
  if (target.protocol !== 'http:')
    throw new Fault('validation_failed', 'Rspamd is reached over http:// only; put a tunnel in front');
  const agent = new Agent({keepAlive: true, maxSockets: maxConnections, noDelay: true});

  const ask = async (mail: ReceivedMail, signal: AbortSignal): Promise<Score> => {
    const headers = {...headersOf(mail), ...(password !== undefined && {Password: headerSafe(password)})};
    const response = await post({target, agent, headers, signal}, mail.content);
    const body = await readBody(response);
    if (response.statusCode !== 200) throw new Error(`HTTP status ${response.statusCode}: ${body.slice(0, 200)}`);
    return scoreOfAnswer(body);
  };

  return {
    async score(mail) {
      const signal = AbortSignal.timeout(timeoutMs);
      try {
        return await ask(mail, signal).catch(error => {
          if (!isConnectionFailure(error)) throw error;
          return ask(mail, signal);
        });
      } catch (error) {
        throw unavailable(error, signal, timeoutMs);
      }
    },
    close: () => agent.destroy(),
  };
};

const unavailable = (cause: unknown, signal: AbortSignal, timeoutMs: number): Fault => {
  if (signal.aborted) return new Fault('unavailable', `Rspamd gave no answer within ${timeoutMs} ms`, {cause});
  if (isConnectionFailure(cause)) return new Fault('unavailable', 'Rspamd cannot be reached', {cause});
  return new Fault('unavailable', 'Rspamd gave no usable answer', {cause});
};

const connectionFailures = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
]);

/** With several addresses to try, Node wraps the errors in an AggregateError that has the code of the first. */
const isConnectionFailure = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && connectionFailures.has(String(error.code));

interface Post {
  target: URL;
  agent: Agent;
  headers: OutgoingHttpHeaders;
  signal: AbortSignal;
}

const post = ({target, agent, headers, signal}: Post, content: MailContent): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    const source = content.open();
    const outgoing = request(target, {method: 'POST', agent, signal, headers: {...headers, 'Content-Length': content.sizeBytes}});
    outgoing.on('response', resolve);
    // Stays after the response too: an error without a listener would end the process.
    outgoing.on('error', reject);
    pipeline(source, outgoing, error => {
      if (error) reject(error);
    });
  });

const maxAnswerBytes = 4 * 1024 * 1024;

const readBody = async (response: IncomingMessage): Promise<string> => {
  const chunks: Buffer[] = [];
  let sizeBytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    sizeBytes += chunk.length;
    if (sizeBytes > maxAnswerBytes) throw new Error(`answer of more than ${maxAnswerBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
};

const headersOf = ({client, envelope, queueId}: ReceivedMail): OutgoingHttpHeaders => ({
  From: headerSafe(`<${envelope.sender}>`),
  Rcpt: envelope.recipients.map(recipient => headerSafe(`<${recipient}>`)),
  IP: headerSafe(client.ip),
  ...(client.helo !== '' && {Helo: headerSafe(client.helo)}),
  ...(client.hostname !== null && {Hostname: headerSafe(client.hostname)}),
  'Queue-ID': headerSafe(queueId),
  Flags: 'groups',
});

/** Rspamd reads UTF-8; node:http writes one byte per character and refuses all others. Nothing in here can end a line. */
const headerSafe = (text: string): string => Buffer.from(text.slice(0, 1000).replace(/\p{Cc}/gu, '?'), 'utf8').toString('latin1');

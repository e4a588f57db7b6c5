// What is common to Rspamd's workers: a mail is posted, with what the envelope says in headers.
import {type Agent, type IncomingMessage, type OutgoingHttpHeaders, request} from 'node:http';
import {pipeline} from 'node:stream';
import {Fault} from '../../../shared/fault.ts';
import type {MailContent} from '../../services/intake/mail.ts';

/** The address of a command of a worker at `url`. */
export const commandUrl = (url: string, command: string): URL => {
  const target = new URL(command, url.endsWith('/') ? url : `${url}/`);
  if (target.protocol !== 'http:')
    throw new Fault('validation_failed', 'Rspamd is reached over http:// only; put a tunnel in front');
  return target;
};

export interface Question {
  target: URL;
  agent: Agent;
  headers: OutgoingHttpHeaders;
  content: MailContent;
  /** Ends it, however far it has come. */
  signal: AbortSignal;
}

export interface Answer {
  status: number;
  body: string;
}

/** Rejects with what the connection failed with, see `isConnectionFailure`, or when the answer has no end. */
export const post = async (question: Question): Promise<Answer> => {
  const response = await send(question);
  return {status: response.statusCode ?? 0, body: await readBody(response)};
};

const send = ({target, agent, headers, content, signal}: Question): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    const outgoing = request(target, {method: 'POST', agent, signal, headers: {...headers, 'Content-Length': content.sizeBytes}});
    outgoing.on('response', resolve);
    // Stays after the response too: an error without a listener would end the process.
    outgoing.on('error', reject);
    pipeline(content.open(), outgoing, error => {
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
export const isConnectionFailure = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && connectionFailures.has(String(error.code));

export const envelopeHeaders = (sender: string, recipients: readonly string[], queueId: string): OutgoingHttpHeaders => ({
  From: headerSafe(`<${sender}>`),
  Rcpt: recipients.map(recipient => headerSafe(`<${recipient}>`)),
  'Queue-ID': headerSafe(queueId),
});

export const passwordHeader = (password: string | undefined): OutgoingHttpHeaders =>
  password === undefined ? {} : {Password: headerSafe(password)};

/** Rspamd reads UTF-8; node:http writes one byte per character and refuses all others. Nothing in here can end a line. */
export const headerSafe = (text: string): string =>
  Buffer.from(text.slice(0, 1000).replace(/\p{Cc}/gu, '?'), 'utf8').toString('latin1');

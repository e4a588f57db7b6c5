// HTTP requests to Rspamd's workers: posts a mail, with the envelope in headers.

import {type Agent, type IncomingMessage, type OutgoingHttpHeaders, request} from 'node:http';
import {pipeline} from 'node:stream';
import {Fault} from '../../../shared/fault.ts';
import {hasOwn} from '../../../shared/has-own.ts';
import type {MailContent} from '../../services/intake/mail.ts';

/** The URL of a command of the worker at `url`. */
export const commandUrl = (url: string, command: string): URL => {
  const target = new URL(command, url.endsWith('/') ? url : `${url}/`);
  if (target.protocol !== 'http:')
    throw new Fault('validation_failed', 'Rspamd is reached over http:// only; put a tunnel in front');
  return target;
};

/** Asks a worker whether it is there. Rejects like `post`, and for an answer that only a server in front of it gives. */
export const ping = async (url: string, signal: AbortSignal): Promise<void> => {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const outgoing = request(commandUrl(url, 'ping'), {method: 'GET', agent: false, signal});
    outgoing.on('response', resolve).on('error', reject).end();
  });
  response.resume();
  const {statusCode = 0} = response;
  if (statusCode >= 500) throw new Error(`HTTP status ${statusCode}`);
};

export interface Question {
  target: URL;
  agent: Agent;
  headers: OutgoingHttpHeaders;
  content: MailContent;
  /** Ends the request at any time. */
  signal: AbortSignal;
}

export interface Answer {
  status: number;
  /** The text after the status. */
  statusText: string;
  body: string;
}

/** Rejects with the error of the connection, see `isConnectionFailure`, or when the answer is incomplete. */
export const post = async (question: Question): Promise<Answer> => {
  const response = await send(question);
  const {statusCode: status = 0, statusMessage: statusText = ''} = response;
  return {status, statusText, body: await readBody(response)};
};

const send = ({target, agent, headers, content, signal}: Question): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    const outgoing = request(target, {method: 'POST', agent, signal, headers: {...headers, 'Content-Length': content.sizeBytes}});
    outgoing.on('response', resolve);
    // Not removed after the response: an error event without a listener would end the process.
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

/** For a host with several addresses, Node throws an AggregateError with the code of the first error. */
export const isConnectionFailure = (error: unknown): error is Error =>
  error instanceof Error && hasOwn(error, 'code') && connectionFailures.has(String(error.code));

export const envelopeHeaders = (sender: string, recipients: readonly string[], queueId: string): OutgoingHttpHeaders => ({
  From: headerSafe(`<${sender}>`),
  Rcpt: recipients.map(recipient => headerSafe(`<${recipient}>`)),
  'Queue-ID': headerSafe(queueId),
});

export const passwordHeader = (password: string | undefined): OutgoingHttpHeaders =>
  password === undefined ? {} : {Password: headerSafe(password)};

/** Encodes as UTF-8 for Rspamd, as node:http writes one byte per character and refuses others. Replaces line ends and controls. */
export const headerSafe = (text: string): string =>
  Buffer.from(text.slice(0, 1000).replace(/\p{Cc}/gu, '?'), 'utf8').toString('latin1');

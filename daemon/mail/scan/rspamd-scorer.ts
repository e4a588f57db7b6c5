import {Agent, type OutgoingHttpHeaders} from 'node:http';
import {Fault} from '../../../shared/fault.ts';
import type {ReceivedMail, Score} from '../../services/intake/mail.ts';
import type {Scorer} from '../../services/intake/mail-ports.ts';
import {scoreOfAnswer} from './rspamd-answer.ts';
import {commandUrl, envelopeHeaders, headerSafe, isConnectionFailure, passwordHeader, post} from './rspamd-http.ts';

export interface RspamdOptions {
  /** The URL of a normal worker, such as http://127.0.0.1:11333. */
  url: string;
  password?: string;
  /** For one mail in total. */
  timeoutMs?: number;
  maxConnections?: number;
}

export interface RspamdScorer extends Scorer {
  /** Closes all connections, including those with requests under way. */
  close(): void;
}

/**
 * Scores mail with Rspamd (3.4 or later) over HTTP. A request is repeated once after a connection error, as the server may have
 * closed a kept-alive connection; not after the timeout, as Rspamd would repeat the same work.
 */
export const createRspamdScorer = ({url, password, timeoutMs = 15_000, maxConnections = 32}: RspamdOptions): RspamdScorer => {
  const target = commandUrl(url, 'checkv2');
  // Rspamd itself closes the connection after each answer; a proxy in front of it may not.
  const agent = new Agent({keepAlive: true, maxSockets: maxConnections, noDelay: true});
  let isClosed = false;

  const ask = async (mail: ReceivedMail, signal: AbortSignal): Promise<Score> => {
    const headers = {...headersOf(mail), ...passwordHeader(password)};
    const {status, body} = await post({target, agent, headers, content: mail.content, signal});
    if (status !== 200) throw new Error(`HTTP status ${status}: ${body.slice(0, 200)}`);
    return scoreOfAnswer(body);
  };

  return {
    async score(mail) {
      const signal = AbortSignal.timeout(timeoutMs);
      try {
        return await ask(mail, signal).catch(error => {
          if (isClosed || !isConnectionFailure(error)) throw error;
          return ask(mail, signal);
        });
      } catch (error) {
        throw unavailable(error, signal, timeoutMs);
      }
    },
    close() {
      isClosed = true;
      agent.destroy();
    },
  };
};

const unavailable = (cause: unknown, signal: AbortSignal, timeoutMs: number): Fault => {
  if (signal.aborted) return new Fault('unavailable', `Rspamd gave no answer within ${timeoutMs} ms`, {cause});
  if (isConnectionFailure(cause)) return new Fault('unavailable', 'Rspamd cannot be reached', {cause});
  return new Fault('unavailable', 'Rspamd gave no usable answer', {cause});
};

const headersOf = ({client, envelope, queueId}: ReceivedMail): OutgoingHttpHeaders => ({
  ...envelopeHeaders(envelope.sender, envelope.recipients, queueId),
  IP: headerSafe(client.ip),
  ...(client.helo !== '' && {Helo: headerSafe(client.helo)}),
  ...(client.hostname !== null && {Hostname: headerSafe(client.hostname)}),
  ...(client.user !== null && {User: headerSafe(client.user)}),
  Flags: 'groups',
});

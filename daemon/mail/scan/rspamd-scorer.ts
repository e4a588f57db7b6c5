// Scorer that asks Rspamd.
import {Agent, type OutgoingHttpHeaders} from 'node:http';
import {z} from 'zod';
import {Fault} from '../../../shared/fault.ts';
import type {SymbolScore} from '../../../shared/held-mail.ts';
import type {ReceivedMail, Score, Scorer} from '../../services/intake/mail.ts';
import {boundScore, maxSymbols, reasonOf} from './reason.ts';
import {commandUrl, envelopeHeaders, headerSafe, isConnectionFailure, passwordHeader, ping, post} from './rspamd-http.ts';

export interface RspamdOptions {
  /** The URL of a normal worker, such as http://127.0.0.1:11333. */
  url: string;
  password?: string;
  /** For one mail in total. */
  timeoutMs?: number;
  maxConnections?: number;
}

export interface RspamdScorer extends Required<Scorer> {
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
    async check() {
      const signal = AbortSignal.timeout(Math.min(checkMs, timeoutMs));
      await ping(url, signal).catch(error => {
        throw unavailable(error, signal, Math.min(checkMs, timeoutMs));
      });
    },
    close() {
      isClosed = true;
      agent.destroy();
    },
  };
};

const checkMs = 5000;

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

const scored = z.object({score: z.number()});

/** Only the required fields, so that later versions of Rspamd may change all others. */
const answerSchema = z.object({
  score: z.number(),
  action: z.string().catch(''),
  required_score: z.number().optional().catch(undefined),
  symbols: z.record(z.string(), scored.catch({score: 0})).default({}),
  groups: z.record(z.string(), scored).catch({}).default({}),
});

type RspamdAnswer = z.infer<typeof answerSchema>;

/** Reads the score from Rspamd's answer to /checkv2. Throws for an invalid answer. */
export const scoreOfAnswer = (body: string): Score => {
  const answer = answerSchema.parse(JSON.parse(body));
  const symbols = Object.entries(answer.symbols).map(
    ([name, {score}]): SymbolScore => ({name: name.slice(0, 100), score: boundScore(score)}),
  );
  const groups = Object.fromEntries(Object.entries(answer.groups).map(([name, {score}]) => [name, score]));
  return {
    score: boundScore(scoreIn(answer)),
    symbols: symbols.slice(0, maxSymbols),
    reason: reasonOf(symbols, groups),
    // From greylisting, rate limits, or scanners that are down. Most rules may not have run, so the score means little.
    ...(answer.action === 'soft reject' && {wantsRetry: true}),
  };
};

/**
 * Each domain has its own thresholds, so an action of Rspamd counts only if the score does not imply it. A rule that demands
 * `reject`, such as one of an antivirus module, does not change the score. The score is then the one that `reject` requires, as
 * Rspamd itself does for the test string.
 */
const scoreIn = ({score, action, required_score: required}: RspamdAnswer): number =>
  action === 'reject' && required !== undefined ? Math.max(score, required) : score;

import {Agent} from 'node:http';
import {ownValue} from '../../../shared/has-own.ts';
import type {Classifier, TrainingResult} from '../../services/intake/mail.ts';
import {type Answer, commandUrl, envelopeHeaders, isConnectionFailure, passwordHeader, post} from './rspamd-http.ts';

export interface RspamdClassifierOptions {
  /** The URL of the controller, such as http://127.0.0.1:11334. */
  url: string;
  /** The controller's `enable_password`, or else its `password`. */
  password?: string;
  /** For one training sample in total. */
  timeoutMs?: number;
}

/** Trains the Bayes classifier of Rspamd (3.4 or later). Failures are not retried, as a missed sample does no harm. */
export const createRspamdClassifier = ({url, password, timeoutMs = 5000}: RspamdClassifierOptions): Classifier => {
  const targets = {ham: commandUrl(url, 'learnham'), spam: commandUrl(url, 'learnspam')};
  // The controller closes the connection after each answer.
  const agent = new Agent({keepAlive: false, noDelay: true});

  return {
    async train(sampleClass, {queueId, sender, recipients, content}) {
      const headers = {...envelopeHeaders(sender, recipients, queueId), ...passwordHeader(password)};
      const signal = AbortSignal.timeout(timeoutMs);
      try {
        return resultOf(await post({target: targets[sampleClass], agent, headers, content, signal}));
      } catch (error) {
        if (signal.aborted) return {kind: 'unreachable', detail: `no answer within ${timeoutMs} ms`};
        const {code = 'no usable answer'} = error as NodeJS.ErrnoException;
        return {kind: isConnectionFailure(error) ? 'unreachable' : 'refused', detail: code};
      }
    },
  };
};

/** Leaves out the text of the answer: it begins with the Message-ID, which the sender chose. */
const resultOf = ({status, body}: Answer): TrainingResult => {
  if (status === 200 && isSuccess(body)) return {kind: 'learned'};
  if (isKnown(status, body)) return {kind: 'known'};
  const isPassword = status === 401 || status === 403;
  const advice = isPassword
    ? '; check scanner.rspamd_controller_password_file'
    : '; the log of Rspamd says why, and is its Redis up?';
  return {kind: 'refused', detail: `HTTP status ${status}${advice}`};
};

const isSuccess = (body: string): boolean => memberOf(body, 'success') === true;

/**
 * The mail was learned before (208), has too few words (204), or adds nothing new (204 or 404). A 404 that says "already learned" is
 * wrong: Rspamd answers that for every mail while its Redis is down.
 */
const isKnown = (status: number, body: string): boolean => {
  if (status === 204 || status === 208) return true;
  const error = status === 404 ? memberOf(body, 'error') : undefined;
  return typeof error === 'string' && error.startsWith('all learn conditions denied learning ');
};

const memberOf = (body: string, name: string): unknown => {
  try {
    const answer: unknown = JSON.parse(body);
    return typeof answer === 'object' && answer !== null ? ownValue(answer as Record<string, unknown>, name) : undefined;
  } catch {
    return undefined;
  }
};

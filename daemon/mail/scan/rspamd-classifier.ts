import {Agent} from 'node:http';
import {ownValue} from '../../../shared/has-own.ts';
import {connectionReason} from '../../../shared/system-error.ts';
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
        if (isConnectionFailure(error)) return {kind: 'unreachable', detail: connectionReason(error)};
        const {code = 'no usable answer'} = error as NodeJS.ErrnoException;
        return {kind: 'refused', detail: code};
      }
    },
  };
};

/** Leaves out the text of the answer: it begins with the Message-ID, which the sender chose. */
const resultOf = (answer: Answer): TrainingResult => {
  const {status, body} = answer;
  if (status === 200 && memberOf(body, 'success') === true) return {kind: 'learned'};
  const why = whyKnown(answer);
  return why === undefined ? {kind: 'refused', detail: `HTTP status ${status}; ${adviceFor(answer)}`} : {kind: 'known', why};
};

/** An answer of 204 has no body, only its status line. */
const whyKnown = ({status, statusText, body}: Answer): Extract<TrainingResult, {kind: 'known'}>['why'] | undefined => {
  if (status === 208) return 'learned_before';
  if (status === 204)
    return / contains less tokens than required for \S+ classifier: \d+ < \d+$/.test(statusText) ? 'too_short' : 'nothing_new';
  return status === 404 && errorIn(body).startsWith('all learn conditions denied learning ') ? 'nothing_new' : undefined;
};

const adviceFor = ({status, body}: Answer): string => {
  if (status === 401 || status === 403) return 'check scanner.rspamd_controller_password_file';
  if (status === 413) return 'the mail is larger than it takes';
  // A mail that Rspamd knows has 208 where its Redis stores that.
  if (status === 404 && / has been already learned as (ham|spam), ignore it$/.test(errorIn(body)))
    return 'it says that it has learned the mail before, as it says of every mail while its Redis is down';
  return 'the log of Rspamd says why, and is its Redis up?';
};

const errorIn = (body: string): string => {
  const error = memberOf(body, 'error');
  return typeof error === 'string' ? error : '';
};

const memberOf = (body: string, name: string): unknown => {
  try {
    const answer: unknown = JSON.parse(body);
    return typeof answer === 'object' && answer !== null ? ownValue(answer as Record<string, unknown>, name) : undefined;
  } catch {
    return undefined;
  }
};

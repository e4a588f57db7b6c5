// Examination of a mail server for a person: what it answers from the greeting to the recipient.

import type {TestState} from '../../../shared/domain-test.ts';
import {hasOwn} from '../../../shared/has-own.ts';
import {type HostPort, isLoopback} from '../../../shared/host-port.ts';
import {isPositive, parseReply} from '../smtp-reply.ts';
import {type BackendTimeouts, connectBackend, defaultBackendTimeouts, openSocket} from './backend-connection.ts';
import {type Answer, isLost, type SaidAt} from './command-connection.ts';

export interface Examined {
  step: string;
  state: TestState;
  detail: string;
}

interface Needs {
  /** The name of this node in EHLO. */
  hostname: string;
  ownKeyword: string;
  /** The address that RCPT asks for; without it the examination ends after EHLO. */
  recipient: string | undefined;
}

/** Shorter than for mail: a person waits. Postfix may wait for 6 s before it greets. */
const timeouts: BackendTimeouts = {...defaultBackendTimeouts, connectMs: 5000, greetingMs: 10_000, replyMs: 10_000};

/** How long a server may take for the whole examination, whatever it does. */
const wholeMs = 25_000;

/** Never rejects. */
export const examineServer = async (server: HostPort, needs: Needs): Promise<Examined[]> => {
  const said: Said[] = [];
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<Examined[]>(resolve => {
    timer = setTimeout(() => resolve([...stepsOf(said, server), failed('connection', 'no end within 25 s')]), wholeMs);
  });
  return Promise.race([converse(server, needs, said), tooLate]).finally(() => clearTimeout(timer));
};

/** Whether a connection can be opened; closes it at once. Never rejects. */
export const connectOnly = async (server: HostPort): Promise<Examined> => {
  const socket = await openSocket({server, timeouts: {...timeouts, connectMs: 3000}});
  if (typeof socket === 'string') return failed('connection', socket);
  socket.on('error', () => {}).destroy();
  return {step: 'connection', state: 'ok', detail: ''};
};

interface Said {
  at: SaidAt;
  raw: string;
}

const converse = async (server: HostPort, {hostname, ownKeyword, recipient}: Needs, said: Said[]): Promise<Examined[]> => {
  const connection = await connectBackend({
    ...{server, hostname, ownKeyword, timeouts},
    onSaid: (at, raw) => said.push({at, raw}),
  });
  if (hasOwn(connection, 'lost')) return withFailure(stepsOf(said, server), connection.lost);
  const steps = stepsOf(said, server);
  if (recipient !== undefined) {
    const {mail, recipients} = await connection.begin({sender: '', isUtf8: false, isEightBit: false}, [recipient]);
    steps.push(recipientStep(recipients[0] ?? mail));
  }
  void connection.quit();
  return steps;
};

/** The reason of a failure, unless a step has already told it. What is no SMTP reply is not shown: it is the text of another service. */
const withFailure = (steps: Examined[], lost: string): Examined[] => {
  if (steps.some(({state}) => state === 'failed')) return steps;
  return [...steps, failed(steps.length === 0 ? 'connection' : 'EHLO', lost)];
};

const stepsOf = (said: readonly Said[], {host}: HostPort): Examined[] => {
  const last = (at: SaidAt): string | undefined => said.findLast(one => one.at === at)?.raw;
  const [greeting, ehlo, starttls] = [last('greeting'), last('EHLO'), last('STARTTLS')];
  return [
    ...(greeting === undefined ? [] : [replyStep('greeting', greeting)]),
    ...(ehlo === undefined ? [] : [ehloStep(ehlo)]),
    ...(ehlo === undefined ? [] : [tlsStep(starttls, {isAgain: said.filter(({at}) => at === 'greeting').length > 1, host})]),
  ];
};

const replyStep = (step: string, raw: string): Examined => {
  const reply = parseReply(raw);
  if (!reply) return failed(step, 'not an SMTP reply');
  return {step, state: isPositive(reply) ? 'ok' : 'failed', detail: `${reply.code} ${reply.text}`};
};

/** HELO is tried where EHLO is refused. */
const ehloStep = (raw: string): Examined => {
  const {state, detail} = replyStep('EHLO', raw);
  return {step: 'EHLO', state: state === 'failed' && detail.startsWith('5') ? 'warning' : state, detail};
};

/** After a failed handshake the server is connected to again, without TLS. */
const tlsStep = (raw: string | undefined, {isAgain, host}: {isAgain: boolean; host: string}): Examined => {
  const state = isLoopback(host) ? 'ok' : 'warning';
  if (raw === undefined) return {step: 'STARTTLS', state, detail: 'not offered: mail goes there unencrypted'};
  const {state: answered, detail} = replyStep('STARTTLS', raw);
  if (answered === 'failed') return {step: 'STARTTLS', state: 'warning', detail: `${detail}: mail goes there unencrypted`};
  if (!isAgain) return {step: 'STARTTLS', state: 'ok', detail};
  return {step: 'STARTTLS', state: 'warning', detail: `${detail}, then the handshake failed: mail goes there unencrypted`};
};

/** Without a postmaster others may still be known (RFC 5321 section 4.5.1 wants one). */
const recipientStep = (answer: Answer): Examined => {
  if (isLost(answer)) return failed('RCPT', answer.lost);
  const detail = `${answer.code} ${answer.text}`;
  if (isPositive(answer)) return {step: 'RCPT', state: 'ok', detail};
  const isUnknown = answer.code === 550 && /^5\.1\.(1|10)\b/.test(answer.text);
  return isUnknown
    ? {step: 'RCPT', state: 'warning', detail: `${detail} (postmaster; others may be known)`}
    : failed('RCPT', detail);
};

const failed = (step: string, detail: string): Examined => ({step, state: 'failed', detail});

// SMTP listener: translates between callbacks of smtp-server and mail transactions.

import {once} from 'node:events';
import {setTimeout as delay} from 'node:timers/promises';
import {createSecureContext} from 'node:tls';
import type {SMTPServerAddress, SMTPServerDataStream, SMTPServerSession} from 'smtp-server';
import {hasOwn} from '../../../shared/has-own.ts';
import type {HostPort} from '../../../shared/host-port.ts';
import {parseMailAddress} from '../../../shared/mail-address.ts';
import {crashPoint} from '../../services/crash-point.ts';
import type {Client, SmtpReply} from '../../services/intake/mail.ts';
import type {EnvelopeStart} from '../backend/backend-connection.ts';
import type {BackendPool} from '../backend/backend-pool.ts';
import type {IntakePort, MailLog} from '../mail-decision.ts';
import {withUnfailingObservers} from '../mail-observers.ts';
import {createMessageIntake} from '../message-intake.ts';
import {createRefusalLog} from '../refusal-log.ts';
import {isPositive, replies} from '../smtp-reply.ts';
import {type ClientLimitNeeds, type ClientNames, createClientLimits} from './clients.ts';
import {GatewayServer} from './gateway-server.ts';
import {createMailTransaction, type MailTransaction} from './mail-transaction.ts';

interface TlsPair {
  key: string | Buffer;
  cert: string | Buffer;
}

export interface SmtpGatewayNeeds extends ClientLimitNeeds {
  /** Port 0 takes a free one. */
  listen: HostPort;
  hostname: string;
  tls: TlsPair;
  maxSize: number;
  maxRecipients: number;
  /** How long a handshake after STARTTLS may take: 30 s by default. */
  handshakeMs?: number;
  /** How long `stop` waits for mails under way. */
  drainMs?: number;
  /** Finds the client's name before the greeting, within 1.5 s; undefined: clients have no names. */
  clientNames?: ClientNames | undefined;
  /** EHLO keyword that is offered to every client. */
  keyword?: string;
  intake: IntakePort;
  pool: BackendPool;
  tmpDir: string;
  newQueueId(): string;
  log: MailLog;
}

export interface SmtpGateway {
  readonly address: HostPort;
  /** Uses this certificate for new clients. Throws, and changes nothing, when key and certificate do not match. */
  updateSecureContext(tls: TlsPair): void;
  /** Waits for mails under way, disconnects all other clients, and resolves when everything is closed. */
  stop(): Promise<void>;
}

const maxMailsPerSession = 1000;
/** Idle time after which a client is disconnected (RFC 5321 section 4.5.3.2.7 asks for five minutes). */
const socketTimeoutMs = 300_000;
/** For the clean-up after disconnected clients, such as files. */
const cleanUpMs = 1000;

type Callback = (error?: Error | null, message?: string) => void;

/** Rejects with the error of the socket, such as EADDRINUSE, when it cannot listen. */
export const startSmtpGateway = async (given: SmtpGatewayNeeds): Promise<SmtpGateway> => {
  const needs = withUnfailingObservers(given);
  const {drainMs = 8000, log} = needs;
  const limits = createClientLimits(needs);
  const sessions = createSessions(needs);
  const refusals = createRefusalLog(needs);
  const server = new GatewayServer(
    {
      ...needs.tls,
      minVersion: 'TLSv1.2',
      name: needs.hostname,
      heloResponse: '%s',
      hideENHANCEDSTATUSCODES: false,
      disabledCommands: ['AUTH', 'WIZ', 'SHELL', 'KILL', 'XCLIENT', 'XFORWARD'],
      size: needs.maxSize,
      maxRecipients: needs.maxRecipients,
      maxCommandLength: 4096,
      socketTimeout: socketTimeoutMs,
      closeTimeout: drainMs,
      disableReverseLookup: needs.clientNames === undefined,
      resolver: {
        // smtp-server would use the first of several names, without confirming it.
        reverse: (ip, callback) =>
          void needs.clientNames?.find(ip).then(name => callback(null, name === undefined ? [] : [name])),
      },
      onMailFrom: sessions.onMailFrom,
      onRcptTo: sessions.onRcptTo,
      onData: sessions.onData,
      onClose: sessions.onClose,
    },
    {
      ...limits,
      onReset: sessions.onReset,
      refuseRecipient: sessions.refuseRecipient,
      onRefused: refusals.record,
      keyword: needs.keyword,
      handshakeMs: needs.handshakeMs,
    },
  );
  // Registered before listening: Node throws an error event without a listener.
  server.on('error', error => log.info({err: error}, 'smtp client failed'));
  const address = await listen(server, needs.listen);

  return {
    address,
    updateSecureContext: tls => {
      createSecureContext(tls);
      server.updateSecureContext(tls);
    },
    stop: async () => {
      const closed = new Promise<void>(resolve => server.close(() => resolve()));
      server.dismissClients();
      await closed;
      server.destroyClients();
      await Promise.race([sessions.settled(), delay(cleanUpMs, undefined, {ref: false})]);
      refusals.flush();
    },
  };
};

const listen = async ({server}: GatewayServer, {host, port}: HostPort): Promise<HostPort> => {
  server.listen({port, host});
  await once(server, 'listening');
  const bound = server.address();
  return bound !== null && typeof bound === 'object' ? {host: bound.address, port: bound.port} : {host, port};
};

/** RFC 1870, 6152, 6531; a parameter that was not offered is refused (RFC 5321 section 4.1.1.11). */
const mailParameters = new Set(['SIZE', 'BODY', 'SMTPUTF8']);

const createSessions = (needs: SmtpGatewayNeeds) => {
  const {intake, log} = needs;
  const messages = createMessageIntake({tmpDir: needs.tmpDir, maxSizeBytes: needs.maxSize});
  const transactions = new Map<string, MailTransaction>();
  const running = new Set<Promise<void>>();

  const end = (session: SMTPServerSession): void => {
    transactions.get(session.id)?.abort();
    transactions.delete(session.id);
  };

  const answer = (reply: Promise<SmtpReply>, callback: Callback): void => {
    const done = reply
      .catch(error => {
        log.error({err: error}, 'smtp command failed');
        return replies.internal;
      })
      .then(({code, text}) => (isPositive({code, text}) ? callback(null, text) : callback(refusal({code, text}))))
      .finally(() => running.delete(done));
    running.add(done);
  };

  const mailFrom = async (address: SMTPServerAddress, session: SMTPServerSession): Promise<SmtpReply> => {
    end(session);
    if (session.transaction > maxMailsPerSession) return replies.tooManyTransactions;
    const busy = intake.canTakeMail();
    if (busy) return busy;
    const start = envelopeStart(address);
    if (hasOwn(start, 'code')) return start;

    transactions.set(session.id, createMailTransaction({...needs, messages}, clientOf(needs, session, start), start));
    return {code: 250, text: ''};
  };

  const rcptTo = async ({address, args}: SMTPServerAddress, session: SMTPServerSession): Promise<SmtpReply> => {
    const transaction = transactions.get(session.id);
    if (!transaction) return replies.internal;
    if (args) return replies.unknownParameter;
    const recipient = canonicalAddress(address);
    if (recipient === undefined) return replies.badRecipient;
    return transaction.rcpt(recipient);
  };

  const data = async (stream: SMTPServerDataStream, session: SMTPServerSession): Promise<SmtpReply> =>
    transactions.get(session.id)?.data(stream) ?? replies.internal;

  return {
    onMailFrom: (address: SMTPServerAddress, session: SMTPServerSession, callback: Callback) =>
      answer(mailFrom(address, session), callback),
    onRcptTo: (address: SMTPServerAddress, session: SMTPServerSession, callback: Callback) =>
      answer(rcptTo(address, session), callback),
    onData: (stream: SMTPServerDataStream, session: SMTPServerSession, callback: Callback) =>
      answer(data(stream, session), betweenCrashPoints(callback)),
    onReset: end,
    refuseRecipient: (path: string, session: SMTPServerSession) => transactions.get(session.id)?.refuse(path),
    onClose: end,
    /** Resolves when everything under way has ended, including the clean-up. */
    settled: async () => {
      await Promise.allSettled(running);
    },
  };
};

/** Encloses the steps of a mail that was taken. */
const betweenCrashPoints =
  (callback: Callback): Callback =>
  (error, message) => {
    if (!error) crashPoint('reply.before');
    callback(error, message);
    if (!error) crashPoint('reply.after');
  };

/** smtp-server sends `responseCode` and the message; our connection class keeps the enhanced status code in it. */
const refusal = ({code, text}: SmtpReply): Error => Object.assign(new Error(text), {responseCode: code});

const envelopeStart = ({address, args}: SMTPServerAddress): EnvelopeStart | SmtpReply => {
  const parameters = args || {};
  if (Object.keys(parameters).some(name => !mailParameters.has(name))) return replies.unknownParameter;
  const sender = address === '' ? '' : canonicalAddress(address);
  if (sender === undefined) return replies.badSender;
  // From this command, not from the session, where smtp-server keeps the parameters of a refused MAIL command.
  const isUtf8 = parameters.SMTPUTF8 === true;
  if (!isUtf8 && /[^\x00-\x7f]/.test(sender)) return replies.needsUtf8;

  const isEightBit = String(parameters.BODY).toUpperCase() === '8BITMIME';
  return {sender, isUtf8, isEightBit, ...(typeof parameters.SIZE === 'string' && {sizeBytes: Number(parameters.SIZE)})};
};

const canonicalAddress = (text: string): string | undefined => {
  const address = parseMailAddress(text);
  return address && `${address.local}@${address.domain}`;
};

const clientOf = ({isTrusted}: SmtpGatewayNeeds, session: SMTPServerSession, {isUtf8}: EnvelopeStart): Client => ({
  ip: session.remoteAddress,
  hostname: session.clientHostname.startsWith('[') ? null : session.clientHostname,
  helo: session.hostNameAppearsAs,
  isTrusted: isTrusted(session.remoteAddress),
  user: null,
  protocol: isUtf8 ? `UTF8SMTP${session.secure ? 'S' : ''}` : session.transmissionType,
});

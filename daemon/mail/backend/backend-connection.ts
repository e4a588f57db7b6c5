// SMTP client connection to a backend: sends the envelope of a mail step by step, then its content, then the next mail.

import {connect as connectSocket, type Socket} from 'node:net';
import type {Readable} from 'node:stream';
import {hasOwn} from '../../../shared/has-own.ts';
import {type HostPort, isLoopback} from '../../../shared/host-port.ts';
import {parseMailAddress} from '../../../shared/mail-address.ts';
import {connectionReason} from '../../../shared/system-error.ts';
import type {Route, SmtpReply} from '../../services/intake/mail.ts';
import {isPositive} from '../smtp-reply.ts';
import {type Answer, CommandConnection, isLost, type Lost, type SaidAt} from './command-connection.ts';

export interface BackendTimeouts {
  connectMs: number;
  /** Used instead of `connectMs` while another server is left, or when this one did not answer recently. */
  hurriedConnectMs: number;
  greetingMs: number;
  /** For the liveness check of an idle connection. */
  checkMs: number;
  /** For the reply to one command, including the 354 to DATA. */
  replyMs: number;
  /** For a pause without progress while the content is sent. */
  blockMs: number;
  /** For the reply after the final dot: the server may scan or sync before it (RFC 5321 section 4.5.3.2.6). */
  finalMs: number;
}

export const defaultBackendTimeouts: BackendTimeouts = {
  connectMs: 10_000,
  hurriedConnectMs: 3000,
  greetingMs: 30_000,
  checkMs: 3000,
  replyMs: 60_000,
  blockMs: 180_000,
  finalMs: 120_000,
};

export interface BackendTarget {
  server: HostPort;
  auth?: Route['auth'];
  /** The name of this node in EHLO. */
  hostname: string;
  timeouts: BackendTimeouts;
  isHurried?: boolean;
  /** The EHLO keyword of this cluster. Its nodes must not be used as backends. */
  ownKeyword?: string | undefined;
  /** Called with the answers before the first mail, as the server sent them. */
  onSaid?: (at: SaidAt, raw: string) => void;
}

export interface EnvelopeStart {
  sender: string;
  /** SMTPUTF8 may be used. Whether it must be is decided by the addresses and by the header of the mail. */
  isUtf8: boolean;
  isEightBit: boolean;
  sizeBytes?: number;
}

export interface BackendConnection {
  readonly isOpen: boolean;
  /** The server accepts commands in groups, so RSET can be sent together with the next transaction. */
  readonly canPipeline: boolean;
  /** The transaction was begun with SMTPUTF8. */
  readonly isUtf8: boolean;
  /** Sends MAIL and these recipients. Resolves with the answers to MAIL and, unless MAIL was refused or lost, to each recipient. */
  begin(start: EnvelopeStart, recipients: readonly string[]): Promise<{mail: Answer; recipients: Answer[]}>;
  mail(start: EnvelopeStart): Promise<Answer>;
  rcpt(address: string): Promise<Answer>;
  /** Marks the transaction as aborted. RSET is sent by `reset`, or together with the next transaction. */
  abandon(): void;
  /** Sends the stream that `open` returns, dot-stuffed, after the server's 354. Does not call `open` without a 354. */
  data(open: () => Readable): Promise<Answer>;
  reset(): Promise<Answer>;
  /** Checks between transactions that the server still answers. */
  check(): Promise<Answer>;
  quit(): Promise<void>;
  close(): void;
  onClose(listener: () => void): void;
}

export const connectBackend = async (target: BackendTarget): Promise<BackendConnection | Lost> => {
  const connection = await openConnection(target);
  if (hasOwn(connection, 'lost')) return connection;

  const failure = target.auth ? await connection.authenticate(target.auth, target.timeouts.replyMs) : undefined;
  if (failure) {
    connection.close();
    return failure;
  }
  return backendConnection(connection, target.timeouts);
};

const backendConnection = (connection: CommandConnection, timeouts: BackendTimeouts): BackendConnection => {
  let isUtf8 = false;
  let isAbandoned = false;
  const canPipeline = connection.offers('PIPELINING');

  const rcptCommand = (recipient: string): string | SmtpReply => {
    const address = wireAddress(recipient);
    if (address === undefined) return {code: 553, text: '5.1.3 Bad recipient address syntax'};
    return isUtf8 || isAscii(address) ? `RCPT TO:<${address}>` : utf8Needed;
  };
  /** Resolves with the answers to `lines`. When a command of `before` fails, these are meaningless, and the connection is closed. */
  const group = async (before: string[], lines: string[]): Promise<Answer[]> => {
    const answers = await connection.commands([...before, ...lines], timeouts.replyMs);
    const failed = answers.slice(0, before.length).find(answer => isLost(answer) || !isPositive(answer));
    isAbandoned = false;
    if (!failed) return answers.slice(before.length);
    connection.close();
    return [isLost(failed) ? failed : {lost: `${failed.code} ${failed.text}`, stage: 'command'}];
  };
  const reset = (withinMs: number): Promise<Answer> => {
    isAbandoned = false;
    return connection.command('RSET', withinMs);
  };
  const begin: BackendConnection['begin'] = async (start, recipients) => {
    isUtf8 = start.isUtf8 && connection.offers('SMTPUTF8');
    const mail = mailCommand(connection, {...start, isUtf8});
    if (typeof mail !== 'string') return {mail, recipients: []};

    const rcpts = recipients.map(rcptCommand);
    const lines = rcpts.filter(rcpt => typeof rcpt === 'string');
    if (isAbandoned || (canPipeline && lines.length > 0)) {
      const [first = noReply, ...rest] = await group(isAbandoned ? ['RSET'] : [], [mail, ...lines]);
      return {mail: first, recipients: rcpts.map(rcpt => (typeof rcpt === 'string' ? (rest.shift() ?? first) : rcpt))};
    }
    const answer = await connection.command(mail, timeouts.replyMs);
    const answers: Answer[] = [];
    if (isLost(answer) || !isPositive(answer)) return {mail: answer, recipients: answers};
    for (const rcpt of rcpts) answers.push(typeof rcpt === 'string' ? await connection.command(rcpt, timeouts.replyMs) : rcpt);
    return {mail: answer, recipients: answers};
  };

  return {
    get isOpen() {
      return !connection.destroyed;
    },
    canPipeline,
    get isUtf8() {
      return isUtf8;
    },
    begin,
    mail: async start => (await begin(start, [])).mail,
    rcpt: async recipient => {
      const rcpt = rcptCommand(recipient);
      return typeof rcpt === 'string' ? connection.command(rcpt, timeouts.replyMs) : rcpt;
    },
    abandon: () => {
      isAbandoned = true;
    },
    data: async open => {
      const answer = await connection.command('DATA', timeouts.replyMs);
      return !isLost(answer) && answer.code === 354 ? connection.stream(open(), timeouts.finalMs) : answer;
    },
    reset: () => reset(timeouts.replyMs),
    check: () => (isAbandoned ? reset(timeouts.checkMs) : connection.command('NOOP', timeouts.checkMs)),
    quit: async () => {
      await connection.command('QUIT', 2000);
      connection.close();
    },
    close: () => connection.close(),
    onClose: listener => void connection.once('end', listener),
  };
};

const noReply: Lost = {lost: 'the server said nothing', stage: 'command'};

const mailCommand = (connection: CommandConnection, start: EnvelopeStart): string | SmtpReply => {
  const {isUtf8, isEightBit, sizeBytes} = start;
  const address = start.sender === '' ? '' : wireAddress(start.sender);
  if (address === undefined) return {code: 553, text: '5.1.7 Bad sender address syntax'};
  if (!isUtf8 && !isAscii(address)) return utf8Needed;

  const parameters = [
    ...(isUtf8 ? [' SMTPUTF8'] : []),
    ...(isEightBit && connection.offers('8BITMIME') ? [' BODY=8BITMIME'] : []),
    ...(sizeBytes !== undefined && connection.offers('SIZE') ? [` SIZE=${sizeBytes}`] : []),
  ];
  return `MAIL FROM:<${address}>${parameters.join('')}`;
};

export const utf8Needed: SmtpReply = {code: 550, text: '5.6.7 The mail server of the recipient does not support SMTPUTF8'};

/** Parses the address strictly, and refuses all others, so that no text on the wire can end the command. */
const wireAddress = (text: string): string | undefined => {
  const address = parseMailAddress(text);
  return address && `${address.local}@${address.domain}`;
};

const isAscii = (text: string): boolean => !/[^\x00-\x7f]/.test(text);

/** Opportunistic TLS: falls back to plain text for a backend with broken TLS, unless a password would be sent. */
const openConnection = async (target: BackendTarget): Promise<CommandConnection | Lost> => {
  const encrypted = await tryConnection(target, false);
  if (!hasOwn(encrypted, 'isTlsFailure') || !encrypted.isTlsFailure || target.auth) return encrypted;
  return tryConnection(target, true);
};

const tryConnection = async (
  target: BackendTarget,
  ignoreTLS: boolean,
): Promise<CommandConnection | (Lost & {isTlsFailure: boolean})> => {
  const {server, hostname, timeouts, auth, ownKeyword, onSaid} = target;
  const needsTls = auth !== undefined && (auth.ca !== undefined || !isLoopback(server.host));
  const socket = await openSocket(target);
  if (typeof socket === 'string') return {lost: socket, stage: 'command', isSilent: true, isTlsFailure: false};

  const connection = new CommandConnection({
    ownKeyword,
    onSaid,
    connection: socket,
    host: server.host,
    port: server.port,
    name: hostname,
    connectionTimeout: timeouts.greetingMs * 2,
    greetingTimeout: timeouts.greetingMs,
    socketTimeout: Math.max(timeouts.blockMs, timeouts.replyMs, timeouts.finalMs) + 1000,
    ignoreTLS,
    opportunisticTLS: true,
    requireTLS: needsTls,
    // Backends commonly have self-signed certificates; without a login, unverified TLS is still better than none (RFC 7435). A password requires a verified host.
    tls: {rejectUnauthorized: needsTls, ...(auth?.ca !== undefined && {ca: auth.ca})},
  });
  const failure = await connection.open(timeouts.greetingMs * 2 + timeouts.replyMs);
  return failure ? {...failure, isTlsFailure: connection.isTlsFailure} : connection;
};

/** Opens the socket, as smtp-connection would query DNS and ignore the hosts file. Resolves with an error text on failure. */
export const openSocket = ({
  server: {host, port},
  timeouts,
  isHurried = false,
}: Pick<BackendTarget, 'server' | 'timeouts' | 'isHurried'>): Promise<Socket | string> =>
  new Promise(resolve => {
    const connectMs = isHurried ? Math.min(timeouts.hurriedConnectMs, timeouts.connectMs) : timeouts.connectMs;
    const socket = connectSocket({host, port});
    const timer = setTimeout(() => socket.destroy(new Error(`no connection within ${connectMs} ms`)), connectMs);
    const onError = (error: Error) => {
      clearTimeout(timer);
      resolve(connectionReason(error));
    };
    socket.once('error', onError);
    socket.once('connect', () => {
      clearTimeout(timer);
      resolve(socket.off('error', onError));
    });
  });

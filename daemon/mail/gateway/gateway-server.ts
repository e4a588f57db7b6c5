// Extension of smtp-server where it has no hooks: enhanced status codes, the end of a transaction, admission of clients, addresses, an
// additional EHLO keyword. It overrides members that are not documented; package.json names the exact version, and the tests of the
// gateway fail if another one changes them.

import type {Socket} from 'node:net';
import {SMTPServer, type SMTPServerOptions, type SMTPServerSession} from 'smtp-server';
import {SMTPConnection} from 'smtp-server/lib/smtp-connection.js';
import {plainAddress} from '../../../shared/host-port.ts';
import type {SmtpReply} from '../../services/intake/mail.ts';
import type {EnvelopeRefusal} from '../mail-decision.ts';
import {hasEnhancedCode, replies} from '../smtp-reply.ts';
import {parsePathCommand} from './path-command.ts';

export interface GatewayHooks {
  /** The reply that refuses this client, requested before the greeting; undefined admits it until `leave`. */
  admit(ip: string): SmtpReply | undefined;
  leave(ip: string): void;
  /** Called when a transaction may have ended: RSET, HELO, EHLO, STARTTLS, or after the reply to DATA. */
  onReset(session: SMTPServerSession): void;
  /** The reply that refuses the recipient in this SMTP path, requested before smtp-server parses it. */
  refuseRecipient(path: string, session: SMTPServerSession): SmtpReply | undefined;
  /** Called for every MAIL and RCPT that is refused, also by smtp-server itself. */
  onRefused(refusal: EnvelopeRefusal): void;
  handshakeMs?: number | undefined;
  /** Offered to every client, before and after STARTTLS. */
  keyword?: string | undefined;
}

/** A client is disconnected after this many 5xx replies, as it probably tries random addresses or commands. */
const maxErrors = 100;

/** From `220 Ready to start TLS` to the end of the handshake, which takes only a few messages. */
const handshakeMs = 30_000;

/** How long a dismissed client may take to close its side. */
const lingerMs = 1000;

export class GatewayServer extends SMTPServer {
  readonly #hooks: GatewayHooks;
  /** Unlike `connections`, includes dismissed connections that are still open. */
  readonly #open = new Set<GatewayConnection>();
  isStopping = false;

  constructor(options: SMTPServerOptions, hooks: GatewayHooks) {
    super(options);
    this.#hooks = hooks;
  }

  override connect(socket: Socket, options?: ConstructorParameters<typeof SMTPConnection>[2]): void {
    // The close event may have been emitted already.
    if (socket.destroyed) return;
    const ip = plainAddress(socket.remoteAddress ?? '');
    const refusal = this.isStopping ? replies.shuttingDown : this.#hooks.admit(ip);
    if (refusal) {
      turnAway(socket, refusal);
      return;
    }
    const connection = new GatewayConnection(this, socket, {
      ...options,
      onReset: this.#hooks.onReset,
      refuseRecipient: this.#hooks.refuseRecipient,
      onRefused: this.#hooks.onRefused,
      keyword: this.#hooks.keyword,
      handshakeMs: this.#hooks.handshakeMs ?? handshakeMs,
      onGone: () => this.#forget(connection, ip),
    });
    this.#open.add(connection);
    this.connections.add(connection);
    connection.on('error', error => this._onError(error));
    connection.on('connect', data => this._onClientConnect(data));
    connection.init();
  }

  /** Dismisses every client: idle ones now, the others after the reply to their mail. */
  dismissClients(): void {
    this.isStopping = true;
    for (const connection of this.connections) if (!connection._dataStream) dismiss(connection);
  }

  destroyClients(): void {
    for (const connection of this.#open) connection._socket.destroy();
  }

  #forget(connection: GatewayConnection, ip: string): void {
    if (this.#open.delete(connection)) this.#hooks.leave(ip);
  }
}

type ConnectionOptions = NonNullable<ConstructorParameters<typeof SMTPConnection>[2]> &
  Pick<GatewayHooks, 'onReset' | 'refuseRecipient' | 'onRefused' | 'keyword'> & {
    handshakeMs: number;
    onGone(): void;
  };

/** Reads the envelope that the command under way would add to; a refusal of it is recorded. Most commands are not refused. */
type AskedEnvelope = (() => Pick<EnvelopeRefusal, 'sender' | 'recipient'>) | undefined;

const clientOf = ({remoteAddress, clientHostname, hostNameAppearsAs, secure}: SMTPServerSession): EnvelopeRefusal['client'] => ({
  ip: plainAddress(remoteAddress),
  name: clientHostname.startsWith('[') ? null : clientHostname,
  helo: hostNameAppearsAs || '',
  tls: secure,
});

class GatewayConnection extends SMTPConnection {
  readonly #server: GatewayServer;
  readonly #options: ConnectionOptions;
  #errors = 0;
  #asked: AskedEnvelope;

  constructor(server: GatewayServer, socket: Socket, options: ConnectionOptions) {
    super(server, socket, options);
    this.#server = server;
    this.#options = options;
  }

  /**
   * smtp-server adds an enhanced status code to every text, even when the text has a better one. The answer to EHLO is the only one
   * that it sends as a list of lines, which is where the keyword goes.
   */
  override send(code: number, data?: string | string[] | null, context?: string | false): void {
    const {keyword} = this.#options;
    const isEhlo = code === 250 && Array.isArray(data);
    const text = isEhlo && keyword !== undefined ? [...data, keyword] : data;
    super.send(code, text, typeof text === 'string' && hasEnhancedCode(text) ? false : context);
    if (code >= 400 && this.#asked) {
      const reply = {code, text: String(data ?? '')};
      this.#options.onRefused({client: clientOf(this.session), ...this.#asked(), reply});
    }
    if (code < 500) return;
    this.#errors += 1;
    if (this.#errors === maxErrors) super.send(replies.tooManyErrors.code, replies.tooManyErrors.text, false);
  }

  override _resetSession(): void {
    super._resetSession();
    this.#options.onReset(this.session);
    if (this.#server.isStopping) dismiss(this);
  }

  /**
   * smtp-server refuses addresses that other servers take (`a..b@`, `ab.@`, `"odd user"@`, domains with `_`). It only parses the
   * parameters here; whether the address is valid is decided where the command is handled.
   */
  override _parseAddressCommand(name: string, line: Buffer | string): ReturnType<SMTPConnection['_parseAddressCommand']> {
    const command = parsePathCommand(line.toString());
    const parsed = command && super._parseAddressCommand(name, `${command.verb}:<> ${command.parameters}`);
    return command && parsed ? {...parsed, address: command.address} : false;
  }

  /** A command that does not belong to a mail, such as RCPT after a refused MAIL, is no refusal of a mail. */
  #watch(asked: AskedEnvelope, callback: () => void): () => void {
    this.#asked = asked;
    return () => {
      this.#asked = undefined;
      callback();
    };
  }

  override handler_MAIL(command: Buffer, callback: () => void): void {
    const isNested = Boolean(this.session.envelope.mailFrom);
    super.handler_MAIL(
      command,
      this.#watch(isNested ? undefined : () => ({sender: pathIn(command), recipient: undefined}), callback),
    );
  }

  /** The refusal of a recipient goes before that of a path or of parameters that cannot be parsed. */
  override handler_RCPT(command: Buffer, whenDone: () => void): void {
    const {mailFrom} = this.session.envelope;
    const callback = this.#watch(mailFrom ? () => ({sender: mailFrom.address, recipient: pathIn(command)}) : undefined, whenDone);
    const path = /^[^:]*:\s*(<[^<>]*>)/.exec(command.toString())?.[1];
    const refusal = path === undefined ? undefined : this.#options.refuseRecipient(path, this.session);
    if (!refusal) {
      super.handler_RCPT(command, callback);
      return;
    }
    this.send(refusal.code, refusal.text);
    callback();
  }

  /** smtp-server allows the same five minutes for a handshake as for the next command. */
  override upgrade(callback: () => void, secureCallback?: () => void): void {
    super.upgrade(callback, secureCallback);
    const timer = setTimeout(() => {
      // No reply is possible: the client would read plain text as a part of the handshake.
      if (this._upgrading) this._socket.destroy();
    }, this.#options.handshakeMs);
    timer.unref();
  }

  /** Used instead of the socket's close event, as STARTTLS removes its listeners. */
  override _onClose(): void {
    super._onClose();
    this.#options.onGone();
  }
}

/** The address of MAIL or RCPT, or what is there instead. */
const pathIn = (command: Buffer): string => {
  const line = command.toString();
  return parsePathCommand(line)?.address ?? line.slice(line.indexOf(':') + 1).trim();
};

const dismiss = (connection: SMTPConnection): void => {
  const socket = connection._socket;
  connection.send(replies.shuttingDown.code, replies.shuttingDown.text, false);
  setTimeout(() => socket.destroy(), lingerMs).unref();
};

const turnAway = (socket: Socket, {code, text}: SmtpReply): void => {
  socket.on('error', () => socket.destroy());
  socket.end(`${code} ${text}\r\n`);
  // Unread bytes would turn the end of the connection into a reset, and the client would lose the reply.
  socket.resume();
  setTimeout(() => socket.destroy(), lingerMs).unref();
};

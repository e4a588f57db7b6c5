// Session of one SMTP client (RFC 5321): greeting, commands, STARTTLS (RFC 3207), and the content of its mails.
//
// greeting → commands → DATA → content → reply → commands;   any → 421, QUIT or a lost client → over

import type {Socket} from 'node:net';
import {setTimeout as delay, setImmediate as nextIteration} from 'node:timers/promises';
import {type SecureContext, TLSSocket} from 'node:tls';
import {hasOwn} from '../../../shared/has-own.ts';
import {crashPoint} from '../../services/crash-point.ts';
import type {Client, SmtpReply} from '../../services/intake/mail.ts';
import type {EnvelopeStart} from '../backend/backend-connection.ts';
import {drained} from '../local-listener.ts';
import type {EnvelopeRefusal} from '../mail-decision.ts';
import {isPositive, replies} from '../smtp-reply.ts';
import type {ClientNames} from './clients.ts';
import {createMailTransaction, type MailTransaction, type MailTransactionNeeds} from './mail-transaction.ts';
import {addressIn, parseMailCommand, parseRcptCommand, pathIn} from './path-command.ts';
import {createSmtpInput, LineTooLong, type SmtpInput} from './smtp-input.ts';

export interface SmtpSessionNeeds extends MailTransactionNeeds {
  hostname: string;
  maxSize: number;
  /** How long a handshake after STARTTLS may take: 30 s by default. */
  handshakeMs?: number;
  /** How long a client may neither send nor read: five minutes by default (RFC 5321 section 4.5.3.2.7). */
  idleMs?: number;
  /** Finds the client's name before the greeting, within 1.5 s; undefined: clients have no names. */
  clientNames?: ClientNames | undefined;
  /** EHLO keyword that is offered to every client. */
  keyword?: string;
  isTrusted(ip: string): boolean;
  secureContext(): SecureContext;
  /** Called for every MAIL and RCPT of a mail that is refused. */
  onRefused(refusal: EnvelopeRefusal): void;
}

interface CurrentMail {
  transaction: MailTransaction;
  start: EnvelopeStart;
}

const maxMailsPerSession = 1000;
/** More than a mail usually takes. */
const commandsAtOnce = 10;
/** A client is disconnected after this many 5xx replies, as it probably tries random addresses or commands. */
const maxErrors = 100;
const maxUnknownCommands = 10;
/** Of the name in EHLO. RFC 5321 section 4.5.3.1.2: 255 octets, and some more for address literals. */
const maxNameLength = 300;
const idleMs = 300_000;
const nameMs = 1500;
/** From `220 Ready to start TLS` to the end of the handshake, which takes only a few messages. */
const handshakeMs = 30_000;
/** How long a client that is sent away may take to close its side. */
const lingerMs = 1000;

/** Errors that are the usual end of a connection. */
const lostCodes = new Set(['ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH']);

/** Sends the last reply. What the client still sends is read and dropped: unread bytes would reset the connection, and the reply be lost. */
export const sendAway = (socket: Socket, {code, text}: SmtpReply): void => {
  if (socket.writable) socket.end(`${code} ${text}\r\n`, 'latin1');
  socket.resume();
  const timer = setTimeout(() => socket.destroy(), lingerMs).unref();
  socket.once('close', () => clearTimeout(timer));
};

export class SmtpSession {
  readonly #needs: SmtpSessionNeeds;
  readonly #ip: string;
  #socket: Socket;
  #input: SmtpInput;
  #name: string | null = null;
  /** What the client called itself in EHLO or HELO. */
  #helo = '';
  #isExtended = false;
  #isSecure = false;
  #mail: CurrentMail | undefined;
  #isProcessingMail = false;
  #isUpgrading = false;
  #isLeaving = false;
  #isDismissed = false;
  #mails = 0;
  #errors = 0;
  #unknownCommands = 0;

  constructor(needs: SmtpSessionNeeds, socket: Socket, ip: string) {
    this.#needs = needs;
    this.#ip = ip;
    this.#socket = socket;
    this.#input = this.#listenTo(socket);
    socket.once('close', () => this.#gone());
  }

  /** Resolves when the client is gone, or was told to go, and all that its last command began has ended. Never rejects. */
  async run(): Promise<void> {
    try {
      await this.#greet();
      let commands = 0;
      for (let line = await this.#input.line(); line; line = await this.#input.line()) {
        await this.#handle(line.toString());
        if (this.#socket.writableNeedDrain) await drained(this.#socket);
        commands += 1;
        // Commands that are there already would be handled without a break, and all other clients wait.
        if (commands % commandsAtOnce === 0) await nextIteration();
      }
    } catch (error) {
      if (error instanceof LineTooLong) {
        this.#leave(replies.lineTooLong);
      } else {
        this.#needs.log.error({client_ip: this.#ip, err: error}, 'smtp session failed');
        this.#socket.destroy();
      }
    } finally {
      this.#endMail();
    }
  }

  /** Tells the client to go: at once, or after the reply to the mail that it is sending. */
  dismiss(): void {
    this.#isDismissed = true;
    if (!this.#isProcessingMail) this.#leave(replies.shuttingDown);
  }

  /** Ends the session, also within a mail. */
  destroy(): void {
    this.#leave(replies.shuttingDown);
    this.#socket.destroy();
  }

  #listenTo(socket: Socket): SmtpInput {
    const input = createSmtpInput({pause: () => socket.pause(), resume: () => socket.resume()});
    socket.on('data', (chunk: Buffer) => input.push(chunk));
    socket.on('error', (error: NodeJS.ErrnoException) => {
      if (this.#mail || !lostCodes.has(error.code ?? ''))
        this.#needs.log.info({client_ip: this.#ip, err: error}, 'smtp client failed');
    });
    socket.setTimeout(this.#needs.idleMs ?? idleMs).on('timeout', () => {
      // A client that waits for a reply is not idle; one that does not read its replies is.
      if (input.isWaiting() || socket.writableLength > 0) this.#leave(replies.idle);
    });
    return input;
  }

  /** Nobody would hear the reply to its mail, so the client sends it again. */
  #gone(): void {
    this.#isLeaving = true;
    this.#input.end();
    this.#endMail();
  }

  #send(reply: SmtpReply): void {
    if (reply.code === 421 || reply.code === 221) {
      this.#leave(reply);
      return;
    }
    this.#write(`${reply.code} ${reply.text}\r\n`);
    if (reply.code < 500) return;
    this.#errors += 1;
    if (this.#errors === maxErrors) this.#leave(replies.tooManyErrors);
  }

  #write(lines: string): void {
    if (!this.#isLeaving && this.#socket.writable) this.#socket.write(lines, 'latin1');
  }

  #leave(reply: SmtpReply): void {
    if (this.#isLeaving) return;
    this.#isLeaving = true;
    this.#input.end();
    // In a handshake the client would read the reply as a part of it.
    if (this.#isUpgrading) this.#socket.destroy();
    else sendAway(this.#socket, reply);
  }

  async #greet(): Promise<void> {
    const {hostname, clientNames} = this.#needs;
    if (clientNames)
      this.#name = (await Promise.race([clientNames.find(this.#ip), delay(nameMs, undefined, {ref: false})])) ?? null;
    // Within these the bytes that came together with the connection are read.
    await nextIteration();
    await nextIteration();
    if (this.#input.hasUnread()) this.#leave(replies.tooSoon);
    else this.#write(`220 ${hostname} ESMTP\r\n`);
  }

  async #handle(line: string): Promise<void> {
    try {
      const reply = await this.#replyTo(line);
      if (reply) this.#send(reply);
    } catch (error) {
      this.#needs.log.error({client_ip: this.#ip, err: error}, 'smtp command failed');
      this.#send(replies.internal);
    }
    if (this.#isDismissed) this.#leave(replies.shuttingDown);
  }

  /** Resolves with the reply, unless the command has sent it. */
  async #replyTo(line: string): Promise<SmtpReply | undefined> {
    // A web page can make a browser send a request to any port.
    if (/^[A-Z]{3,7} \/.* HTTP\/\d\.\d$/i.test(line)) return replies.noHttp;
    const [verb = ''] = line.split(' ', 1);
    switch (verb.toUpperCase()) {
      case 'EHLO':
        return this.#hello(line, true);
      case 'HELO':
        return this.#hello(line, false);
      case 'MAIL':
        return this.#startMail(line);
      case 'RCPT':
        return this.#addRecipient(line);
      case 'DATA':
        return this.#takeContent(line);
      case 'RSET':
        this.#endMail();
        return replies.flushed;
      case 'NOOP':
        return replies.ok;
      case 'VRFY':
        return replies.notVerified;
      case 'HELP':
        return replies.help;
      case 'QUIT':
        return replies.bye;
      case 'STARTTLS':
        return this.#startTls(line);
      default:
        this.#unknownCommands += 1;
        return this.#unknownCommands < maxUnknownCommands ? replies.unknownCommand : replies.tooManyUnknown;
    }
  }

  #hello(line: string, isExtended: boolean): SmtpReply | undefined {
    const [, name = '', ...more] = line.trim().split(/\s+/);
    if (name === '' || more.length > 0 || name.length > maxNameLength || /[\x00-\x1f\x7f-\x9f]/.test(name))
      return replies.badHello;
    this.#endMail();
    this.#helo = name.toLowerCase();
    this.#isExtended = isExtended;
    const {hostname, maxSize, keyword} = this.#needs;
    const lines = [hostname];
    if (isExtended) {
      lines.push('PIPELINING', '8BITMIME', 'SMTPUTF8', 'ENHANCEDSTATUSCODES', `SIZE ${maxSize}`);
      if (!this.#isSecure) lines.push('STARTTLS');
      if (keyword !== undefined) lines.push(keyword);
    }
    this.#write(lines.map((text, n) => `250${n < lines.length - 1 ? '-' : ' '}${text}\r\n`).join(''));
    return undefined;
  }

  #startMail(line: string): SmtpReply {
    if (this.#helo === '') return replies.helloFirst;
    if (this.#mail) return replies.nestedMail;
    const start = this.#acceptMail(line);
    if (hasOwn(start, 'code')) return this.#refused({sender: addressIn(line), recipient: undefined, reply: start});
    this.#mail = {transaction: createMailTransaction(this.#needs, this.#client(start), start), start};
    return replies.senderAccepted;
  }

  #acceptMail(line: string): EnvelopeStart | SmtpReply {
    if (this.#mails >= maxMailsPerSession) return replies.tooManyTransactions;
    const start = parseMailCommand(line, this.#needs.maxSize);
    return hasOwn(start, 'code') ? start : (this.#needs.intake.canTakeMail() ?? start);
  }

  async #addRecipient(line: string): Promise<SmtpReply> {
    if (!this.#mail) return this.#mailFirst();
    const {sender} = this.#mail.start;
    const reply = await this.#askFor(line, this.#mail);
    return isPositive(reply) ? reply : this.#refused({sender, recipient: addressIn(line), reply});
  }

  async #askFor(line: string, {transaction, start}: CurrentMail): Promise<SmtpReply> {
    // This refusal goes before that of a path or of parameters that cannot be parsed.
    const path = pathIn(line);
    const refusal = path === undefined ? undefined : transaction.refuse(path);
    if (refusal) return refusal;
    const recipient = parseRcptCommand(line, start);
    return typeof recipient === 'string' ? transaction.rcpt(recipient) : recipient;
  }

  async #takeContent(line: string): Promise<undefined | SmtpReply> {
    if (!this.#mail) return this.#mailFirst();
    if (!this.#mail.transaction.hasRecipients()) return replies.rcptFirst;
    if (/\s/.test(line.trim())) return replies.noParameters;
    this.#isProcessingMail = true;
    const content = this.#input.content();
    this.#send(replies.startContent);
    const reply = await this.#mail.transaction.data(content).finally(() => {
      this.#isProcessingMail = false;
      this.#endMail();
    });
    this.#mails += 1;
    this.#unknownCommands = 0;
    if (!isPositive(reply)) return reply;
    crashPoint('reply.before');
    this.#send(reply);
    crashPoint('reply.after');
    return undefined;
  }

  #mailFirst(): SmtpReply {
    return this.#helo === '' ? replies.helloFirst : replies.mailFirst;
  }

  #endMail(): void {
    this.#mail?.transaction.abort();
    this.#mail = undefined;
  }

  #refused({reply, ...envelope}: Omit<EnvelopeRefusal, 'client'>): SmtpReply {
    const client = {ip: this.#ip, name: this.#name, helo: this.#helo, tls: this.#isSecure};
    this.#needs.onRefused({client, ...envelope, reply});
    return reply;
  }

  #client({isUtf8}: EnvelopeStart): Client {
    const protocol = isUtf8 ? 'UTF8SMTP' : this.#isExtended ? 'ESMTP' : 'SMTP';
    return {
      ip: this.#ip,
      hostname: this.#name,
      helo: this.#helo,
      isTrusted: this.#needs.isTrusted(this.#ip),
      user: null,
      protocol: this.#isSecure ? `${protocol}S` : protocol,
    };
  }

  /** Whatever the client said in plain text before the handshake, or along with STARTTLS, is forgotten (RFC 3207 section 4.2). */
  async #startTls(line: string): Promise<SmtpReply | undefined> {
    if (this.#isSecure) return replies.isSecure;
    if (/\s/.test(line.trim())) return replies.noParameters;
    this.#endMail();
    this.#helo = '';
    this.#send(replies.startTls);
    const plain = this.#socket;
    plain.removeAllListeners('data').removeAllListeners('timeout').setTimeout(0);
    const secured = new TLSSocket(plain, {isServer: true, secureContext: this.#needs.secureContext()});
    // Without a tls.Server nobody else ends the connection after an error, such as one renegotiation after another.
    secured.on('_tlsError', (error: Error) => secured.destroy(error));
    this.#input = this.#listenTo(secured);
    this.#isUpgrading = true;
    const timer = setTimeout(() => plain.destroy(), this.#needs.handshakeMs ?? handshakeMs).unref();
    await new Promise(resolve => secured.once('secure', resolve).once('close', resolve));
    clearTimeout(timer);
    this.#isUpgrading = false;
    this.#socket = secured;
    this.#isSecure = true;
    return undefined;
  }
}

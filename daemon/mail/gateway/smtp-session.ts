// Session of one SMTP client (RFC 5321): greeting, commands, STARTTLS (RFC 3207), and the content of its mails.
//
// greeting → commands → DATA → content → reply → commands;   any → 421, QUIT or a lost client → over

import type {Socket} from 'node:net';
import {setImmediate as turn} from 'node:timers/promises';
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
  /** From now on every client is told to go. */
  isStopping(): boolean;
  secureContext(): SecureContext;
  /** Called for every MAIL and RCPT of a mail that is refused. */
  onRefused(refusal: EnvelopeRefusal): void;
}

const maxMailsPerSession = 1000;
/** A client is disconnected after this many 5xx replies, as it probably tries random addresses or commands. */
const maxErrors = 100;
const maxUnknownCommands = 10;
/** The same for its name, with an address literal. */
const maxNameLength = 300;
const idleMs = 300_000;
const nameMs = 1500;
/** From `220 Ready to start TLS` to the end of the handshake, which takes only a few messages. */
const handshakeMs = 30_000;
/** How long a client that was told to go may take to close its side. */
const lingerMs = 1000;

/** Errors that are the usual end of a connection. */
const lostCodes = new Set(['ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH']);

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
  #mail: {transaction: MailTransaction; start: EnvelopeStart} | undefined;
  #isTakingContent = false;
  #isUpgrading = false;
  #isLeaving = false;
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
      for (let line = await this.#input.line(); line; line = await this.#input.line()) {
        await this.#obey(line.toString());
        if (this.#socket.writableNeedDrain) await drained(this.#socket);
      }
    } catch (error) {
      if (error instanceof LineTooLong) this.#leave(replies.lineTooLong);
      else this.#needs.log.error({err: error}, 'smtp session failed');
    } finally {
      if (!this.#isLeaving) this.#socket.destroy();
      this.#endMail();
    }
  }

  /** Tells the client to go: at once, or after the reply to the mail that it is sending. */
  dismiss(): void {
    if (!this.#isTakingContent) this.#leave(replies.shuttingDown);
  }

  destroy(): void {
    this.#socket.destroy();
  }

  #listenTo(socket: Socket): SmtpInput {
    const input = createSmtpInput({pause: () => socket.pause(), resume: () => socket.resume()});
    socket.on('data', (chunk: Buffer) => input.push(chunk));
    socket.on('error', (error: NodeJS.ErrnoException) => {
      if (this.#mail || !lostCodes.has(error.code ?? '')) this.#needs.log.info({err: error}, 'smtp client failed');
    });
    // A client that waits for a reply is not idle; one that does not read its replies is.
    const isIdle = () => input.isWaiting() || socket.writableLength > 0;
    socket.setTimeout(this.#needs.idleMs ?? idleMs).on('timeout', () => void (isIdle() && this.#leave(replies.idle)));
    return input;
  }

  /** Nobody would hear the reply to its mail, so the client sends it again. */
  #gone(): void {
    this.#isLeaving = true;
    this.#input.end();
    this.#endMail();
  }

  #say(reply: SmtpReply): void {
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

  /** Says the last word. What the client still sends is read and dropped: unread bytes would reset the connection, and the reply be lost. */
  #leave({code, text}: SmtpReply): void {
    if (this.#isLeaving) return;
    const socket = this.#socket;
    // The client would read it as a part of the handshake.
    if (this.#isUpgrading) socket.destroy();
    else socket.end(`${code} ${text}\r\n`, 'latin1');
    this.#isLeaving = true;
    this.#input.end();
    socket.resume();
    setTimeout(() => socket.destroy(), lingerMs).unref();
  }

  async #greet(): Promise<void> {
    const {hostname, clientNames} = this.#needs;
    if (clientNames) this.#name = (await withinMs(clientNames.find(this.#ip), nameMs)) ?? null;
    // Within these turns the bytes that came together with the connection are read.
    await turn();
    await turn();
    if (this.#input.hasUnread()) this.#leave(replies.tooSoon);
    else this.#write(`220 ${hostname} ESMTP\r\n`);
  }

  async #obey(line: string): Promise<void> {
    try {
      const reply = this.#needs.isStopping() ? replies.shuttingDown : await this.#run(line);
      if (reply) this.#say(reply);
    } catch (error) {
      this.#needs.log.error({err: error}, 'smtp command failed');
      this.#say(replies.internal);
    }
    if (!this.#mail && this.#needs.isStopping()) this.#leave(replies.shuttingDown);
  }

  /** Resolves with the reply, unless the command has sent it. */
  async #run(line: string): Promise<SmtpReply | undefined> {
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
    if (!this.#mail) return this.#helo === '' ? replies.helloFirst : replies.mailFirst;
    const {transaction, start} = this.#mail;
    const reply = await this.#askFor(line, transaction, start);
    return isPositive(reply) ? reply : this.#refused({sender: start.sender, recipient: addressIn(line), reply});
  }

  async #askFor(line: string, transaction: MailTransaction, start: EnvelopeStart): Promise<SmtpReply> {
    // This refusal goes before that of a path or of parameters that cannot be parsed.
    const path = pathIn(line);
    const refusal = path === undefined ? undefined : transaction.refuse(path);
    if (refusal) return refusal;
    const recipient = parseRcptCommand(line, start);
    return typeof recipient === 'string' ? transaction.rcpt(recipient) : recipient;
  }

  async #takeContent(line: string): Promise<undefined | SmtpReply> {
    if (!this.#mail?.transaction.hasRecipients()) return this.#mail ? replies.rcptFirst : replies.mailFirst;
    if (line.trim().includes(' ')) return replies.noParameters;
    this.#isTakingContent = true;
    const content = this.#input.content();
    this.#say(replies.startContent);
    const reply = await this.#mail.transaction.data(content).finally(() => {
      this.#isTakingContent = false;
      this.#endMail();
    });
    this.#mails += 1;
    this.#unknownCommands = 0;
    if (!isPositive(reply)) return reply;
    crashPoint('reply.before');
    this.#say(reply);
    crashPoint('reply.after');
    return undefined;
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
    if (line.trim().includes(' ')) return replies.noParameters;
    this.#endMail();
    this.#helo = '';
    this.#say(replies.startTls);
    this.#input.end();
    const plain = this.#socket;
    plain.removeAllListeners('data').removeAllListeners('timeout').setTimeout(0);
    const secured = new TLSSocket(plain, {isServer: true, secureContext: this.#needs.secureContext()});
    secured.on('_tlsError', (error: Error) => this.#needs.log.info({err: error}, 'smtp client failed'));
    this.#input = this.#listenTo(secured);
    this.#isUpgrading = true;
    const timer = setTimeout(() => plain.destroy(), this.#needs.handshakeMs ?? handshakeMs).unref();
    await new Promise(resolve => secured.once('secure', resolve).once('close', resolve));
    clearTimeout(timer);
    this.#isUpgrading = false;
    this.#socket = secured;
    this.#isSecure = true;
    if (secured.destroyed) this.#gone();
    return undefined;
  }
}

/** Undefined when there is no answer in time. */
const withinMs = async <T>(answer: Promise<T>, ms: number): Promise<T | undefined> => {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>(resolve => {
    timer = setTimeout(() => resolve(undefined), ms).unref();
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
  }
};

// SMTP client connection driven command by command. smtp-connection's own send() runs a whole transaction at once, so the client's
// RCPT could not be answered with the backend's reply before the content arrives. Only this file uses the internals of
// smtp-connection, and nodemailer is pinned to an exact version for that reason.

import type {Socket} from 'node:net';
import type {Readable} from 'node:stream';
import SmtpConnection from 'nodemailer/lib/smtp-connection';
import {hasOwn} from '../../../shared/has-own.ts';
import {formatHostPort} from '../../../shared/host-port.ts';
import type {Route, SmtpReply} from '../../services/intake/mail.ts';
import {hasKeyword, parseReply} from '../smtp-reply.ts';
import {DotStuffing} from './dot-stuffing.ts';

/**
 * The connection broke, or could not be opened. `command`: no byte of the mail was sent. `content`: only a part was sent, so the
 * server cannot have taken the mail. `final-dot`: everything was sent, and nobody knows whether the server took the mail.
 */
export interface Lost {
  lost: string;
  stage: 'command' | 'content' | 'final-dot';
  /** The server sent nothing, or not in time. */
  isSilent?: boolean;
}

export type Answer = SmtpReply | Lost;

export const isLost = (answer: Answer): answer is Lost => hasOwn(answer, 'lost');

type Settle = (answer: Answer) => void;

type ConnectionOptions = NonNullable<ConstructorParameters<typeof SmtpConnection>[0]>;

/** Steps at which a server answers before the first mail. */
export type SaidAt = 'greeting' | 'EHLO' | 'STARTTLS';

interface Hooks {
  /** A server that offers this EHLO keyword is a node of this cluster, and the connection is closed. */
  ownKeyword?: string | undefined;
  /** Called with each of these answers, as the server sent it. */
  onSaid?: ((at: SaidAt, raw: string) => void) | undefined;
}

/** Uses members that smtp-connection does not declare, as they are in the pinned version. */
export class CommandConnection extends SmtpConnection {
  declare private readonly _responseActions: ((raw: string) => void)[];
  declare private readonly _supportedExtensions: string[];
  declare private readonly _sendCommand: (line: string) => void;

  isTlsFailure = false;
  #settle: Settle | undefined;
  #timer: NodeJS.Timeout | undefined;
  #stage: Lost['stage'] = 'command';
  readonly #ownKeyword: string | undefined;
  readonly #onSaid: Hooks['onSaid'];
  readonly #server: string;

  constructor({ownKeyword, onSaid, ...options}: ConnectionOptions & Hooks) {
    super(options);
    this.#ownKeyword = ownKeyword;
    this.#onSaid = onSaid;
    this.#server = formatHostPort({host: options.host ?? '', port: Number(options.port)});
    this.on('error', (error: Error & {code?: string}) => {
      this.isTlsFailure ||= this.upgrading === true || error.code === 'ETLS';
      this.#fail(error.message, isTimeout(error));
    });
    this.on('end', () => this.#fail('the server closed the connection'));
  }

  _actionGreeting(answer: string): void {
    this.#onSaid?.('greeting', answer);
    inherited._actionGreeting.call(this, answer);
  }

  _actionSTARTTLS(answer: string): void {
    this.#onSaid?.('STARTTLS', answer);
    inherited._actionSTARTTLS.call(this, answer);
  }

  /** Called for every answer to EHLO, before and after STARTTLS. */
  _actionEHLO(answer: string): void {
    this.#onSaid?.('EHLO', answer);
    if (this.#ownKeyword === undefined || !hasKeyword(answer, this.#ownKeyword)) {
      inherited._actionEHLO.call(this, answer);
      return;
    }
    this.#fail('it is a node of this cluster: its mail would go in circles');
    this.close();
  }

  offers(extension: string): boolean {
    return this._supportedExtensions.includes(extension);
  }

  async open(withinMs: number): Promise<Lost | undefined> {
    const answer = await this.#answer(withinMs, settle =>
      this.connect(error =>
        settle(error ? {lost: error.message, stage: 'command', isSilent: isTimeout(error)} : {code: 220, text: ''}),
      ),
    );
    return isLost(answer) ? answer : undefined;
  }

  async authenticate({username, password}: NonNullable<Route['auth']>, withinMs: number): Promise<Lost | undefined> {
    if (!this.allowsAuth) return {lost: 'the server does not offer AUTH', stage: 'command'};

    const answer = await this.#answer(withinMs, settle =>
      this.login({user: username, pass: password}, error =>
        settle(error ? {lost: `login failed: ${error.message}`, stage: 'command'} : {code: 235, text: ''}),
      ),
    );
    return isLost(answer) ? answer : undefined;
  }

  command(line: string, withinMs: number): Promise<Answer> {
    return this.#answer(withinMs, settle => {
      this._responseActions.push(raw => settle(this.#read(raw)));
      this._sendCommand(line);
    });
  }

  /** Sends the commands in one write, to a server that offers PIPELINING (RFC 2920). One answer each; after a lost one all are lost. */
  async commands(lines: readonly string[], withinMs: number): Promise<Answer[]> {
    const answers: Answer[] = [];
    const last = await this.#answer(withinMs, settle => {
      const onReply = (raw: string) => {
        const answer = this.#read(raw);
        answers.push(answer);
        if (answers.length === lines.length || isLost(answer)) settle(answer);
      };
      for (const _ of lines) this._responseActions.push(onReply);
      this._sendCommand(lines.join('\r\n'));
    });
    return lines.map((_, n) => answers[n] ?? last);
  }

  /** Sends the content after a 354. A reply before its end closes the connection, as the server would read the rest as commands. */
  async stream(content: Readable, finalMs: number): Promise<Answer> {
    this.#stage = 'content';
    const stuffing = new DotStuffing();
    const answer = await this.#answer(undefined, settle => {
      this._responseActions.push(raw => settle(this.#read(raw)));
      stuffing.once('end', () => {
        this.#stage = 'final-dot';
        this.#expectWithin(finalMs);
      });
      content.once('error', error => {
        this.#fail(`the mail could not be read: ${error.message}`);
        this.close();
      });
      const socket = this._socket;
      if (!socket) return this.#fail('the connection is closed');
      writeTogether(socket);
      content.pipe(stuffing).pipe(socket, {end: false});
    });
    const isComplete = this.#stageNow() === 'final-dot';
    content.destroy();
    stuffing.destroy();
    this.#stage = 'command';
    if (isComplete) return answer;

    this.close();
    return isLost(answer) || answer.code >= 400
      ? answer
      : {lost: 'the server answered before the end of the mail', stage: 'content'};
  }

  /** A method, because TypeScript assumes that the field is unchanged after an await. */
  #stageNow(): Lost['stage'] {
    return this.#stage;
  }

  #answer(withinMs: number | undefined, begin: (settle: Settle) => void): Promise<Answer> {
    if (this.destroyed) return Promise.resolve({lost: 'the connection is closed', stage: 'command'});

    return new Promise(resolve => {
      this.#settle = answer => {
        clearTimeout(this.#timer);
        this.#settle = undefined;
        resolve(answer);
      };
      if (withinMs !== undefined) this.#expectWithin(withinMs);
      begin(answer => this.#settle?.(answer));
    });
  }

  #expectWithin(withinMs: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#fail(`no reply within ${withinMs} ms`, true);
      this.close();
    }, withinMs);
  }

  /** 421 announces the end of the connection after any command (RFC 5321 section 3.8), and means that the mail was not taken. */
  #read(raw: string): Answer {
    const reply = parseReply(raw);
    if (reply && reply.code !== 421) return {...reply, server: this.#server};

    if (!reply) this.close();
    const stage = this.#stage === 'final-dot' && reply ? 'content' : this.#stage;
    return {lost: reply ? `421 ${reply.text}` : 'the server sent something that is not an SMTP reply', stage};
  }

  #fail(detail: string, isSilent = false): void {
    this.#settle?.({lost: detail, stage: this.#stage, ...(isSilent && {isSilent})});
  }
}

/** Joins the writes of one turn of the event loop: header, content and final dot of a mail in memory become one packet. */
const writeTogether = (socket: Socket): void => {
  socket.cork();
  setImmediate(() => socket.uncork());
};

const isTimeout = ({code}: {code?: string | undefined}): boolean => code === 'ETIMEDOUT';

const inherited = SmtpConnection.prototype as unknown as Record<
  '_actionGreeting' | '_actionEHLO' | '_actionSTARTTLS',
  (answer: string) => void
>;

// An SMTP client connection driven command by command. smtp-connection's own send() runs a whole transaction at once, which
// cannot answer our client's RCPT with the backend's reply before the mail is there; so its internals are used here, and
// nowhere else. nodemailer is pinned to an exact version for that reason.

import type {Readable} from 'node:stream';
import SmtpConnection from 'nodemailer/lib/smtp-connection';
import type {Route, SmtpReply} from '../../services/intake/mail-ports.ts';
import {hasKeyword} from '../gateway/cluster-keyword.ts';
import {parseReply} from '../smtp-reply.ts';

/**
 * The connection broke, or never came to be. `command`: no byte of the mail had been sent. `content`: not all of it, so
 * the server cannot have taken it. `final-dot`: all of it, and nobody knows whether the server took it.
 */
export interface Lost {
  lost: string;
  stage: 'command' | 'content' | 'final-dot';
  /** Nothing was heard from the server, or not in time. */
  isSilent?: boolean;
}

export type Answer = SmtpReply | Lost;

export const isLost = (answer: Answer): answer is Lost => 'lost' in answer;

type Settle = (answer: Answer) => void;

type ConnectionOptions = NonNullable<ConstructorParameters<typeof SmtpConnection>[0]>;

/** What smtp-connection does not declare, as it is in the pinned version. */
export class CommandConnection extends SmtpConnection {
  declare private readonly _responseActions: ((raw: string) => void)[];
  declare private readonly _supportedExtensions: string[];
  declare private readonly _sendCommand: (line: string) => void;
  declare private readonly _createSendStream: (
    done: (error: {response?: string} | null, raw?: string) => void,
  ) => NodeJS.ReadWriteStream;

  isTlsFailure = false;
  #settle: Settle | undefined;
  #timer: NodeJS.Timeout | undefined;
  #stage: Lost['stage'] = 'command';
  readonly #ownKeyword: string | undefined;

  /** `ownKeyword`: a server that offers it is a node of this cluster, and is hung up on. */
  constructor({ownKeyword, ...options}: ConnectionOptions & {ownKeyword?: string | undefined}) {
    super(options);
    this.#ownKeyword = ownKeyword;
    this.on('error', (error: Error & {code?: string}) => {
      this.isTlsFailure ||= this.upgrading === true || error.code === 'ETLS';
      this.#fail(error.message, isTimeout(error));
    });
    this.on('end', () => this.#fail('the server closed the connection'));
  }

  /** Called for every answer to EHLO: that before STARTTLS, and that after it. */
  _actionEHLO(answer: string): void {
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

  /** Commands in one piece, for a server that offers PIPELINING (RFC 2920). An answer for each; after the first that is lost all are. */
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

  /** Sends the content after a 354. A reply before the end of the content ends the connection: the rest would be commands. */
  async stream(content: Readable, finalMs: number): Promise<Answer> {
    this.#stage = 'content';
    const answer = await this.#answer(undefined, settle => {
      const sink = this._createSendStream((error, raw) => settle(this.#read(error?.response ?? raw ?? '')));
      sink.once('end', () => {
        this.#stage = 'final-dot';
        this.#expectWithin(finalMs);
      });
      content.once('error', error => {
        this.#fail(`the mail could not be read: ${error.message}`);
        this.close();
      });
      this.#writeTogether();
      content.pipe(sink);
    });
    const isComplete = this.#stageNow() === 'final-dot';
    content.destroy();
    this.#stage = 'command';
    if (isComplete) return answer;

    this.close();
    return isLost(answer) || answer.code >= 400
      ? answer
      : {lost: 'the server answered before the end of the mail', stage: 'content'};
  }

  /** What this turn of the event loop has to say: header, content and final dot of a mail in memory are one packet, and wake the server once. */
  #writeTogether(): void {
    const socket = this._socket;
    if (!socket) return;
    socket.cork();
    setImmediate(() => socket.uncork());
  }

  /** TypeScript would take the stage for unchanged across the wait. */
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

  /** 421 announces the end of the connection whatever was asked (RFC 5321 section 3.8), and says the mail was not taken. */
  #read(raw: string): Answer {
    const reply = parseReply(raw);
    if (reply && reply.code !== 421) return reply;

    if (!reply) this.close();
    const stage = this.#stage === 'final-dot' && reply ? 'content' : this.#stage;
    return {lost: reply ? `421 ${reply.text}` : 'the server sent what is no SMTP reply', stage};
  }

  #fail(detail: string, isSilent = false): void {
    this.#settle?.({lost: detail, stage: this.#stage, ...(isSilent && {isSilent})});
  }
}

const isTimeout = ({code}: {code?: string | undefined}): boolean => code === 'ETIMEDOUT';

const inherited = SmtpConnection.prototype as unknown as {_actionEHLO(answer: string): void};

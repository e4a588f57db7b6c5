// Milter session on a socket: reads commands, keeps content, judges mails, writes answers.
import type {Socket} from 'node:net';
import {setTimeout as delay} from 'node:timers/promises';
import {drained, type LocalAddress, listenLocal} from '../local-listener.ts';
import {withUnfailingObservers} from '../mail-observers.ts';
import {createMessageIntake, type MessageIntake} from '../message-intake.ts';
import {createRefusalLog} from '../refusal-log.ts';
import {createCommandReader, encodeReplies, MilterError} from './milter-codec.ts';
import type {EnvelopeNeeds} from './milter-envelope.ts';
import {type JudgedMail, type MilterContent, startMilterContent} from './milter-mail.ts';
import {createMilterSession, type SessionAction} from './milter-session.ts';
import {answerMail, type VerdictNeeds} from './milter-verdict.ts';

interface ConnectionNeeds extends EnvelopeNeeds, VerdictNeeds {
  intake: VerdictNeeds['intake'];
  messages: MessageIntake;
  /** A file name for the content of a mail, unique in its folder. */
  newContentName(): string;
}

interface MilterConnection {
  /** Ends the connection at once, or after the answer to the mail under way. */
  dismiss(): void;
  destroy(): void;
  /** Resolves once the connection is closed and everything it held is freed. */
  over: Promise<void>;
}

/** Reading pauses while commands are processed and more than this is buffered. */
const readAheadBytes = 256 * 1024;

const serveMilterConnection = (socket: Socket, needs: ConnectionNeeds): MilterConnection => {
  const commands = createCommandReader();
  const session = createMilterSession(needs);
  const tasks = createTasks(error => {
    socket.destroy();
    if (error instanceof MilterError)
      needs.log.warn({detail: error.message}, 'milter connection closed: not the milter protocol');
    else needs.log.error({err: error}, 'milter connection closed after an error');
  });
  let isWorking = false;
  let isDismissed = false;

  const judge = async (mail: JudgedMail, content: MilterContent | undefined): Promise<void> => {
    const isAbandoned = () => socket.destroyed || !session.isJudging(mail);
    const replies = await answerMail(needs, mail, {taken: await content?.end(), isAbandoned});
    for (const action of session.judged(mail, replies)) await perform(action);
    if (isDismissed) socket.destroySoon();
  };
  const mails = createMailContents(needs, {judge, track: tasks.track, isClosed: () => socket.destroyed});

  const perform = async (action: SessionAction): Promise<void> => {
    if (socket.destroyed) return;
    switch (action.kind) {
      case 'answer':
        socket.write(encodeReplies(action.replies));
        // A peer that does not read its answers gets no more of them.
        if (socket.writableNeedDrain) await drained(socket);
        return;
      case 'close':
        socket.destroySoon();
        return;
      default:
        return mails.perform(action);
    }
  };

  const work = async (): Promise<void> => {
    for (let command = commands.next(); command && !socket.destroyed; command = commands.next()) {
      for (const action of session.receive(command)) await perform(action);
      if (isDismissed && !session.isMailUnderWay) socket.destroySoon();
    }
  };

  socket.on('data', bytes => {
    commands.push(bytes);
    if (commands.bufferedBytes > readAheadBytes) socket.pause();
    if (isWorking) return;
    isWorking = true;
    const working = work().finally(() => {
      isWorking = false;
      socket.resume();
    });
    tasks.track(working);
  });
  // The error needs no handling: Postfix reconnects.
  socket.on('error', () => socket.destroy());
  const over = new Promise<void>(resolve => {
    socket.once('close', () => {
      tasks.track(mails.forget());
      resolve();
    });
  }).then(tasks.settled);

  return {
    dismiss() {
      isDismissed = true;
      if (!session.isMailUnderWay) socket.destroySoon();
    },
    destroy: () => socket.destroy(),
    over,
  };
};

type MailAction = Exclude<SessionAction, {kind: 'answer' | 'close'}>;

interface MailContentNeeds {
  judge(mail: JudgedMail, content: MilterContent | undefined): Promise<void>;
  track(work: Promise<void>): void;
  /** Whether the connection is closed. */
  isClosed(): boolean;
}

/** The content of one mail after the other: kept while it arrives, discarded once the mail is judged or forgotten. */
const createMailContents = (
  {messages, newContentName}: Pick<ConnectionNeeds, 'messages' | 'newContentName'>,
  {judge, track, isClosed}: MailContentNeeds,
) => {
  let content: MilterContent | undefined;
  let judging: Promise<void> | undefined;

  const forget = async (): Promise<void> => {
    const forgotten = content;
    content = undefined;
    await forgotten?.discard();
  };

  return {
    forget,
    async perform(action: MailAction): Promise<void> {
      switch (action.kind) {
        case 'keep':
          // One mail of a connection at a time, even when the peer gave up the previous one during its judgement.
          await judging;
          if (!isClosed()) content ??= startMilterContent(messages, newContentName());
          return content?.push(action.bytes);
        case 'judge': {
          const judged = content;
          content = undefined;
          judging = judge(action.mail, judged).finally(() => judged?.discard());
          // Not awaited: commands are read meanwhile, so that an abort or the end of the connection is noticed.
          track(judging);
          return;
        }
        case 'forget':
          return forget();
        default:
          return action satisfies never;
      }
    },
  };
};

/** Promises that nothing awaits at once; `settled` waits for all of them. */
const createTasks = (onError: (error: unknown) => void) => {
  const underWay = new Set<Promise<void>>();
  return {
    track(work: Promise<void>): void {
      const tracked = work.catch(onError).finally(() => underWay.delete(tracked));
      underWay.add(tracked);
    },
    async settled(): Promise<void> {
      while (underWay.size > 0) await Promise.all(underWay);
    },
  };
};

export interface MilterServerNeeds extends Omit<ConnectionNeeds, 'messages' | 'newContentName' | 'refusals'> {
  listen: LocalAddress;
  /** Larger mail is refused. */
  maxSize: number;
  maxConnections: number;
  /** For content that is too large for memory. Each file is removed once its mail is answered. */
  tmpDir: string;
  /** How long `stop` waits for mails under way. */
  drainMs?: number;
  /** How long a connection may be silent. */
  idleMs?: number;
}

export interface MilterServer {
  /** The address with the actual port if port 0 was requested. */
  readonly address: LocalAddress;
  /** Waits for mails under way, ends all other connections, and resolves when everything is closed. */
  stop(): Promise<void>;
}

/**
 * Postfix keeps its connection while a client is silent (smtpd_timeout, 5 minutes) or slowly sends a mail, as the milter gets the
 * content only when Postfix has all of it. When Postfix dies, the system closes the connection.
 */
const idleAfterMs = 2 * 3600 * 1000;
const keepAliveMs = 60_000;
/** For the clean-up after closed connections, such as files. */
const cleanUpMs = 1000;

/** Rejects with the error of the socket, such as EADDRINUSE, when it cannot listen. */
export const startMilterServer = async (given: MilterServerNeeds): Promise<MilterServer> => {
  const needs = withUnfailingObservers(given);
  const {tmpDir, maxSize, maxConnections, drainMs = 7000, idleMs = idleAfterMs, log} = needs;
  const connections = new Set<MilterConnection>();
  const messages = createMessageIntake({tmpDir, maxSizeBytes: maxSize, isFormChecked: false});
  const refusals = createRefusalLog(needs);
  let contents = 0;
  const newContentName = () => {
    contents += 1;
    return `milter-${contents}`;
  };
  let isStopping = false;

  const serve = (socket: Socket): void => {
    if (isStopping || connections.size >= maxConnections) {
      if (!isStopping) log.warn({max_connections: maxConnections}, 'milter connection refused: too many connections');
      socket.destroy();
      return;
    }
    socket.setKeepAlive(true, keepAliveMs);
    socket.setTimeout(idleMs, () => socket.destroy());
    const connection = serveMilterConnection(socket, {...needs, messages, refusals, newContentName});
    connections.add(connection);
    void connection.over.finally(() => connections.delete(connection));
  };

  const listener = await listenLocal(needs.listen, serve);
  return {
    address: listener.address,
    async stop() {
      isStopping = true;
      const closed = listener.stop();
      for (const connection of connections) connection.dismiss();
      const over = async () => Promise.all([closed, ...[...connections].map(connection => connection.over)]);
      await Promise.race([over(), delay(drainMs, undefined, {ref: false})]);
      for (const connection of connections) connection.destroy();
      await Promise.race([over(), delay(cleanUpMs, undefined, {ref: false})]);
      refusals.flush();
    },
  };
};

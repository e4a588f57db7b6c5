// A milter session on a socket: reads commands, keeps content, has mails judged, writes answers.
import type {Socket} from 'node:net';
import type {MessageIntake} from '../gateway/message-intake.ts';
import {createCommandReader, encodeReplies, MilterError} from './milter-codec.ts';
import {drained, type MilterContent, startMilterContent} from './milter-content.ts';
import type {EnvelopeNeeds} from './milter-envelope.ts';
import type {JudgedMail} from './milter-mail.ts';
import {createMilterSession, type SessionAction} from './milter-session.ts';
import {answerMail, type VerdictNeeds} from './milter-verdict.ts';

export interface ConnectionNeeds extends EnvelopeNeeds, VerdictNeeds {
  intake: VerdictNeeds['intake'];
  messages: MessageIntake;
  /** A name for the content of a mail that nothing else in its folder has. */
  newContentName(): string;
}

export interface MilterConnection {
  /** Ends the connection: at once, or after the answer to the mail under way. */
  dismiss(): void;
  destroy(): void;
  /** Resolves once it is closed and everything it held is freed. */
  over: Promise<void>;
}

/** As long as commands are worked off no more than about this is read ahead. */
const readAheadBytes = 256 * 1024;

export const serveMilterConnection = (socket: Socket, needs: ConnectionNeeds): MilterConnection => {
  const commands = createCommandReader();
  const session = createMilterSession(needs);
  const underWay = new Set<Promise<void>>();
  let content: MilterContent | undefined;
  let judging: Promise<void> | undefined;
  let isWorking = false;
  let isDismissed = false;

  const track = (work: Promise<void>): void => {
    const tracked = work.catch(fail).finally(() => underWay.delete(tracked));
    underWay.add(tracked);
  };

  const fail = (error: unknown): void => {
    socket.destroy();
    if (error instanceof MilterError)
      needs.log.warn({detail: error.message}, 'milter connection closed: not the milter protocol');
    else needs.log.error({err: error}, 'milter connection closed: it failed');
  };

  const perform = async (action: SessionAction): Promise<void> => {
    if (socket.destroyed) return;
    switch (action.kind) {
      case 'answer':
        socket.write(encodeReplies(action.replies));
        // Who does not read his answers gets no further ones.
        if (socket.writableNeedDrain) await drained(socket);
        return;
      case 'keep':
        // One mail of a connection at a time, also where the one before was given up while it was judged.
        await judging;
        if (!socket.destroyed) content ??= startMilterContent(needs.messages, needs.newContentName());
        return content?.push(action.bytes);
      case 'judge':
        judging = judge(action.mail, content);
        content = undefined;
        track(judging);
        return;
      case 'forget':
        return forget();
      case 'close':
        socket.destroySoon();
        return;
      default:
        return action satisfies never;
    }
  };

  const forget = async (): Promise<void> => {
    const gone = content;
    content = undefined;
    await gone?.discard();
  };

  /** Beside the reading of commands: an abort, or the end of the connection, is heard of while a mail is judged. */
  const judge = async (mail: JudgedMail, bytes: MilterContent | undefined): Promise<void> => {
    try {
      const isAbandoned = () => socket.destroyed || !session.isJudging(mail);
      const replies = await answerMail(needs, mail, {taken: await bytes?.end(), isAbandoned});
      for (const action of session.judged(mail, replies)) await perform(action);
      if (isDismissed) socket.destroySoon();
    } finally {
      await bytes?.discard();
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
    track(working);
  });
  // What it was shows when Postfix comes again.
  socket.on('error', () => socket.destroy());
  const over = new Promise<void>(resolve => {
    socket.once('close', () => {
      track(forget());
      resolve();
    });
  }).then(async () => {
    while (underWay.size > 0) await Promise.all(underWay);
  });

  return {
    dismiss() {
      isDismissed = true;
      if (!session.isMailUnderWay) socket.destroySoon();
    },
    destroy: () => socket.destroy(),
    over,
  };
};

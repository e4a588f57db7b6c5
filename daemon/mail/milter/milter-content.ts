// The bytes of one mail on their way in: handed over piece by piece, while a message intake reads them as a stream.
import {PassThrough, type Writable} from 'node:stream';
import type {MessageIntake, Taken} from '../gateway/message-intake.ts';

export interface MilterContent {
  /** Resolves once there is room for more. */
  push(bytes: Buffer): Promise<void>;
  /** All bytes were pushed. What is taken has to be discarded; undefined when it was discarded before. */
  end(): Promise<Taken | undefined>;
  /** Frees everything, at whatever point the mail is. Doing it twice is harmless. */
  discard(): Promise<void>;
}

const roomBytes = 256 * 1024;

export const startMilterContent = (messages: MessageIntake, name: string): MilterContent => {
  const stream = new PassThrough({highWaterMark: roomBytes});
  // It rejects only when the stream breaks off.
  const taking = messages.take(stream, name).catch(() => undefined);

  return {
    async push(bytes) {
      if (!stream.destroyed && !stream.write(bytes)) await drained(stream);
    },
    async end() {
      stream.end();
      return taking;
    },
    async discard() {
      stream.destroy();
      const taken = await taking;
      if (taken?.kind === 'taken') await taken.content.discard();
    },
  };
};

/** Resolves when there is room again, or will never be. */
export const drained = (stream: Writable): Promise<void> =>
  new Promise(resolve => {
    const done = () => {
      stream.off('drain', done).off('close', done);
      resolve();
    };
    stream.on('drain', done).on('close', done);
  });

// Content of one mail while it arrives: takes pieces, and passes them to a message intake as a stream.
import {PassThrough} from 'node:stream';
import {drained} from '../drained.ts';
import type {MessageIntake, Taken} from '../message-intake.ts';

export interface MilterContent {
  /** Resolves when the buffer has space for more. */
  push(bytes: Buffer): Promise<void>;
  /** Ends the content. The caller has to call `discard` afterwards. Undefined when the content was discarded before. */
  end(): Promise<Taken | undefined>;
  /** Frees everything, at any time. A second call has no effect. */
  discard(): Promise<void>;
}

const bufferBytes = 256 * 1024;

export const startMilterContent = (messages: MessageIntake, name: string): MilterContent => {
  const stream = new PassThrough({highWaterMark: bufferBytes});
  // Rejects only when the stream breaks off.
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

// Endless text answer. A reader that is too slow is disconnected, as the buffer for each reader is bounded.
import {Readable} from 'node:stream';

export interface TextStream {
  readonly body: Readable;
  send(text: string): void;
  end(): void;
  /** Calls the listener once, when the reader is gone or the stream has ended. */
  onClose(listener: () => void): void;
}

const maxWaitingBytes = 1024 * 1024;

export const createTextStream = (): TextStream => {
  const body = new Readable({read() {}});
  let isEnded = false;
  // Koa logs errors of the answer.
  body.on('error', () => {});

  return {
    body,
    send(text) {
      if (isEnded || body.destroyed) return;
      if (body.readableLength < maxWaitingBytes) body.push(text);
      else body.destroy(new Error('the reader is too slow'));
    },
    end() {
      if (!isEnded && !body.destroyed) body.push(null);
      isEnded = true;
    },
    onClose: listener => void body.once('close', listener),
  };
};

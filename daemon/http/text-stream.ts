// An answer without an end. Whoever reads it too slowly loses it: what is kept for one reader is bounded.
import {Readable} from 'node:stream';

export interface TextStream {
  readonly body: Readable;
  send(text: string): void;
  end(): void;
  /** Called once, when the reader has gone or the stream has ended. */
  onClose(listener: () => void): void;
}

const maxWaitingBytes = 1024 * 1024;

export const createTextStream = (): TextStream => {
  const body = new Readable({read() {}});
  let isEnded = false;
  // The framework logs what breaks an answer off.
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

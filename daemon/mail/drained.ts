import type {Writable} from 'node:stream';

/** Resolves when the stream can take more, or is closed. */
export const drained = (stream: Writable): Promise<void> =>
  new Promise(resolve => {
    const done = () => {
      stream.off('drain', done).off('close', done);
      resolve();
    };
    stream.on('drain', done).on('close', done);
  });

// Client of the helper that runs programs of Postfix as root, one connection per run (deploy/postfix-helper lists what it
// accepts).
import {connect} from 'node:net';
import {PassThrough} from 'node:stream';
import {CutOff, type ProgramResult, type Running} from './run-program.ts';

/** The end of the helper's answer: a line end, then a line with the exit status of the program. */
const trailer = /\nexit (\d{1,3})\n$/;
const maxTrailerBytes = '\nexit 255\n'.length;

/** `input` is the verb, then the ids, one per line. The output of the program is in `stdout`. */
export const runAsHelper = (path: string, input: string, timeoutMs: number): Running => {
  const stdout = new PassThrough();
  const ended = new Promise<ProgramResult>((resolve, reject) => {
    const socket = connect({path, allowHalfOpen: true});
    const fail = (error: Error) => {
      clearTimeout(timer);
      socket.destroy();
      stdout.destroy();
      reject(error);
    };
    const timer = setTimeout(() => fail(new CutOff(`the helper at ${path} did not answer within ${timeoutMs} ms`)), timeoutMs);
    let last: Buffer = Buffer.alloc(0);
    socket.on('error', fail);
    socket.on('data', (chunk: Buffer) => {
      const seen = Buffer.concat([last, chunk]);
      last = Buffer.from(seen.subarray(-maxTrailerBytes));
      const known = seen.subarray(0, -maxTrailerBytes);
      if (known.length > 0 && !stdout.write(known)) {
        socket.pause();
        stdout.once('drain', () => socket.resume());
      }
    });
    stdout.once('close', () => {
      if (!stdout.readableEnded) socket.destroy();
    });
    socket.on('end', () => {
      clearTimeout(timer);
      socket.end();
      const code = trailer.exec(last.toString('latin1'))?.[1];
      if (code === undefined) return fail(new CutOff(`the helper at ${path} broke off`));
      stdout.end(last.subarray(0, last.toString('latin1').search(trailer)));
      return resolve({code: Number(code), stderr: ''});
    });
    socket.end(input);
  });
  ended.catch(() => undefined);
  return {stdout, ended};
};

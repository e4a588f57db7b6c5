// Run of a program of Postfix: without a shell, with input on standard input, and with a time limit.
import {type ChildProcess, spawn} from 'node:child_process';
import {connect} from 'node:net';
import {PassThrough, Readable} from 'node:stream';
import {childEnvironment} from '../../../shared/child-environment.ts';

export interface Program {
  file: string;
  args: string[];
  input?: string;
}

export interface ProgramResult {
  code: number;
  /** Its first 64 KiB at most. */
  stderr: string;
}

export interface Running {
  /** Must be read to its end, or destroyed. */
  stdout: Readable;
  /** Rejects when the program cannot be started or exceeds its time limit. */
  ended: Promise<ProgramResult>;
}

/** The program was killed or given up before its output was complete: its work may be done or not. */
export class CutOff extends Error {
  override name = 'CutOff';
  readonly stderr: string;

  constructor(message: string, stderr = '') {
    super(message);
    this.stderr = stderr;
  }
}

const maxStderrChars = 64 * 1024;

export const runProgram = ({file, args, input = ''}: Program, timeoutMs: number): Running => {
  // Postfix must not read variables of mfd: MAIL_CONFIG would select another configuration than the configured one.
  const env = childEnvironment({PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C'});
  const child = spawn(file, args, {stdio: ['pipe', 'pipe', 'pipe'], env, cwd: '/'});
  if (!child.stdout) return failedStart(child);
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    if (stderr.length < maxStderrChars) stderr += text;
  });
  // A program that ends before it has read its input reports the reason itself.
  child.stdin.on('error', () => undefined).end(input);
  const ended = new Promise<ProgramResult>((resolve, reject) => {
    const fail = (why: string) => reject(new CutOff(`${file} ${why}`, stderr));
    const timer = setTimeout(() => {
      // A program that sudo runs as root cannot be killed from here, and its children would keep its output open.
      child.kill('SIGKILL');
      fail(`did not end within ${timeoutMs} ms`);
      for (const stream of [child.stdin, child.stdout, child.stderr]) stream.destroy();
    }, timeoutMs);
    // The listener stays: a second error, such as a kill that is not allowed, would end the process.
    child.on('error', reject);
    child.once('close', (code, signal) => {
      clearTimeout(timer);
      if (code !== null) resolve({code, stderr: stderr.slice(0, maxStderrChars)});
      else fail(`was ended by ${signal}`);
    });
  });
  // A caller that reads the output first attaches its handler too late.
  ended.catch(() => undefined);
  return {stdout: child.stdout, ended};
};

/**
 * Without free file descriptors a program has no streams. Its error event follows later, and would end the process if unhandled.
 */
const failedStart = (child: ChildProcess): Running => {
  const ended = new Promise<never>((_resolve, reject) => child.on('error', reject));
  ended.catch(() => undefined);
  return {stdout: Readable.from([]), ended};
};

// Client of the helper that runs programs of Postfix as root, one connection per run (deploy/postfix-helper lists what it
// accepts).

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

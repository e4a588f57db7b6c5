// Runs a program of Postfix: without a shell, what it reads on standard input, with an end in sight.
import {type ChildProcess, spawn} from 'node:child_process';
import {Readable} from 'node:stream';

export interface Program {
  file: string;
  args: string[];
  input?: string;
}

export interface Ran {
  code: number;
  /** Cut at 64 KiB from the front. */
  stderr: string;
}

export interface Running {
  /** Has to be read to its end, or destroyed. */
  stdout: Readable;
  /** Rejects when the program cannot be started, or takes longer than it may. */
  ended: Promise<Ran>;
}

/** It was ended, or given up, before it had said everything: what it had to do may be done or not. */
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
  // No variable of ours is for Postfix to read: MAIL_CONFIG would name another configuration than the one we were told of.
  const env = {PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C'};
  const child = spawn(file, args, {stdio: ['pipe', 'pipe', 'pipe'], env, cwd: '/'});
  if (!child.stdout) return neverBegun(child);
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    if (stderr.length < maxStderrChars) stderr += text;
  });
  // One that ends before it has read everything says why on its own.
  child.stdin.on('error', () => undefined).end(input);
  const ended = new Promise<Ran>((resolve, reject) => {
    const fail = (why: string) => reject(new CutOff(`${file} ${why}`, stderr));
    const timer = setTimeout(() => {
      // It may be root's, as with sudo, which cannot be killed from here; and what it has started would keep its output open.
      child.kill('SIGKILL');
      fail(`did not end within ${timeoutMs} ms`);
      for (const stream of [child.stdin, child.stdout, child.stderr]) stream.destroy();
    }, timeoutMs);
    // Stays: a second error, as of a kill that is not allowed, would end the process.
    child.on('error', reject);
    child.once('close', (code, signal) => {
      clearTimeout(timer);
      if (code !== null) resolve({code, stderr: stderr.slice(0, maxStderrChars)});
      else fail(`was ended by ${signal}`);
    });
  });
  // Whoever reads the output first must not be too late to hear of it.
  ended.catch(() => undefined);
  return {stdout: child.stdout, ended};
};

/** Where no file descriptor is left a program has no streams either. Why is told a moment later, and would end the process unheard. */
const neverBegun = (child: ChildProcess): Running => {
  const ended = new Promise<never>((_resolve, reject) => child.on('error', reject));
  ended.catch(() => undefined);
  return {stdout: Readable.from([]), ended};
};

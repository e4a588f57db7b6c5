// `mfd start` as a child process, on any data directory.
import {type ChildProcess, spawn} from 'node:child_process';
import {cleanEnvironment, mfdFile} from './program.ts';

/** Registers what is to be closed at the end: a test, or the demo. */
export interface Owner {
  teardown(close: () => Promise<void> | void): void;
}

export interface Daemon {
  /** Resolves with the line that begins with `mfd ready`; rejects when the daemon ends before that. */
  ready: Promise<string>;
  /** The exit code, or the signal that ended it. */
  ended: Promise<number | NodeJS.Signals>;
  isRunning(): boolean;
  readonly pid: number;
  stdout(): string;
  stderr(): string;
  signal(signal: NodeJS.Signals): void;
  /** Resolves once the log matches. */
  logged(pattern: RegExp): Promise<void>;
}

interface Program {
  /** mfd as built, or another build of it. */
  program?: string | undefined;
  /** See `RunOptions`. */
  within?: readonly string[] | undefined;
}

export const startDaemon = (
  owner: Owner,
  data: string,
  env: Record<string, string> = {},
  {program = mfdFile, within = []}: Program = {},
): Daemon => startCommand(owner, [...within, process.execPath, program, 'start', '--data', data], env);

/** Creates the node first, with `mfd start --init`; `options` are those of the new node. */
export const startFirst = (owner: Owner, data: string, env: Record<string, string>, options: string[] = []): Daemon =>
  startCommand(owner, [process.execPath, mfdFile, 'start', '--init', '--data', data, ...options], env);

const startCommand = (owner: Owner, [command = '', ...args]: string[], env: Record<string, string>): Daemon => {
  const child: ChildProcess = spawn(command, args, {
    env: {...cleanEnvironment(), ...env},
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  let isRunning = true;
  child.stderr?.on('data', (chunk: Buffer) => {
    stderr += chunk.toString();
  });
  const ended = new Promise<number | NodeJS.Signals>(resolve => {
    // After `close` its streams deliver nothing more.
    child.once('close', (code, signal) => {
      isRunning = false;
      resolve(code ?? signal ?? 0);
    });
  });
  const ready = new Promise<string>((resolve, reject) => {
    child.stdout?.on('data', (chunk: Buffer) => {
      stdout += chunk.toString();
      const line = /^mfd ready .*$/m.exec(stdout)?.[0];
      if (line !== undefined && stdout.endsWith('\n')) resolve(line);
    });
    void ended.then(code => reject(new Error(`mfd start ended with ${code}: ${stderr}`)));
  });
  ready.catch(() => {});
  owner.teardown(async () => {
    child.kill('SIGKILL');
    await ended;
  });

  return {
    ready,
    ended,
    isRunning: () => isRunning,
    pid: child.pid ?? 0,
    stdout: () => stdout,
    stderr: () => stderr,
    signal: signal => void child.kill(signal),
    async logged(pattern) {
      for (let tries = 0; !pattern.test(stderr); tries += 1) {
        if (tries > 200) throw new Error(`not logged: ${pattern} in ${stderr}`);
        await new Promise(resolve => setTimeout(resolve, 50));
      }
    },
  };
};

// A server as a child process whose log goes to a file: the measuring process would have to read a pipe.
import {spawn} from 'node:child_process';
import {once} from 'node:events';
import {open} from 'node:fs/promises';
import {createInterface} from 'node:readline';
import type {Readable} from 'node:stream';
import type {Owner} from '../helpers/daemon.ts';
import {cleanEnvironment, mfdFile} from '../helpers/program.ts';

export interface ServerProcess {
  pid: number;
  /** The line that it printed when it was ready. */
  ready: string;
  /** Kills it and waits for its end. */
  end(): Promise<void>;
}

/** `args` are those of node. Resolves with the first line on standard output that `isReady` matches. */
export const startServerProcess = async (
  owner: Owner,
  args: readonly string[],
  {log, isReady}: {log: string; isReady: RegExp},
): Promise<ServerProcess> => {
  const file = await open(log, 'a', 0o600);
  const child = spawn(process.execPath, args, {env: cleanEnvironment(), stdio: ['ignore', 'pipe', file.fd]});
  const ended = once(child, 'exit');
  await file.close();
  const end = async () => {
    child.kill('SIGKILL');
    await ended;
  };
  owner.teardown(end);
  for await (const line of createInterface({input: child.stdout as Readable}))
    if (isReady.test(line)) return {pid: child.pid ?? 0, ready: line, end};
  throw new Error(`${args.join(' ')} ended, see ${log}`);
};

/** Starts the daemon of a node that has been created and is not running. */
export const startNodeProcess = async (owner: Owner, data: string, log: string): Promise<ServerProcess> =>
  startServerProcess(owner, [mfdFile, 'start', '--data', data], {log, isReady: /^mfd ready /});

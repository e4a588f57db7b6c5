// Where tests may arrange the file system as they like: what they mount, nobody else sees, and it goes with the last process inside.
import {spawn, spawnSync} from 'node:child_process';
import type {Ran} from './program.ts';

export const mayUnshare = spawnSync('unshare', ['--mount', 'true'], {stdio: 'ignore'}).status === 0;

interface Options {
  args?: string[];
  env?: Record<string, string>;
}

/** Runs a script of `sh -eu` in a mount namespace of its own; never rejects for an exit status. */
export const runUnshared = async (script: string, {args = [], env = {}}: Options = {}): Promise<Ran> =>
  new Promise(resolve => {
    const child = spawn('unshare', ['--mount', 'sh', '-euc', script, 'sh', ...args], {
      env: {PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', ...env},
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const ran: Ran = {code: 0, stdout: '', stderr: ''};
    child.stdout.on('data', (chunk: Buffer) => {
      ran.stdout += chunk.toString();
    });
    child.stderr.on('data', (chunk: Buffer) => {
      ran.stderr += chunk.toString();
    });
    child.once('close', code => resolve({...ran, code: code ?? 128}));
  });

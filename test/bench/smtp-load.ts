// Clients for measuring: a process of their own, so that they take no turn of the event loop from what is measured. They wait for
// each reply and send no two commands together.
import {type ChildProcess, fork} from 'node:child_process';
import {once} from 'node:events';
import {fileURLToPath} from 'node:url';
import type {Owner} from '../helpers/daemon.ts';

export interface LoadOrder {
  port: number;
  /** Mails in all. */
  count: number;
  /** How many are connected at a time. */
  clients: number;
  mailsPerSession: number;
  /** Sent evenly over the time, whatever the server takes; as fast as it takes them when left out. */
  perSecond?: number;
  to: string;
  sizeBytes: number;
}

export interface LoadResult {
  seconds: number;
  accepted: number;
  /** The first reply that was not what was to come. */
  failure?: string;
}

export interface SmtpLoad {
  /** Mails a second. Rejects when one of them was not taken. */
  rate(order: LoadOrder): Promise<number>;
  run(order: LoadOrder): Promise<LoadResult>;
}

export const startSmtpLoad = (owner: Owner): SmtpLoad => {
  const child = startChild(owner, './smtp-load-main.ts');

  const run = async (order: LoadOrder): Promise<LoadResult> => {
    child.send(order);
    const [result] = (await once(child, 'message')) as [LoadResult];
    return result;
  };
  return {
    run,
    async rate(order) {
      const {accepted, seconds, failure} = await run(order);
      if (failure !== undefined || accepted < order.count)
        throw new Error(`${accepted} of ${order.count} mails were taken: ${failure}`);
      return accepted / seconds;
    },
  };
};

/** A mail server that takes everything and keeps nothing, as a process of its own. Resolves with its port. */
export const startBareBackend = async (owner: Owner): Promise<number> => {
  const child = startChild(owner, './anchors/bare-backend-main.ts');
  const [port] = (await once(child, 'message')) as [number];
  return port;
};

const startChild = (owner: Owner, file: string): ChildProcess => {
  const child = fork(fileURLToPath(new URL(file, import.meta.url)), {execArgv: ['--import=tsx']});
  owner.teardown(async () => {
    if (child.exitCode !== null) return;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  });
  return child;
};

// SMTP load clients in a process of their own, so that they do not use the event loop of the measured program. They wait for each
// reply and do not pipeline commands.
import {type ChildProcess, fork} from 'node:child_process';
import {once} from 'node:events';
import {fileURLToPath} from 'node:url';
import type {Owner} from '../helpers/daemon.ts';

export interface LoadOrder {
  port: number;
  /** Total number of mails, sent as fast as the server accepts them. */
  count: number;
  /** Number of concurrent connections. */
  clients: number;
  to: string;
  sizeBytes: number;
  /** Header fields before the mail, with their line ends. */
  signature?: string;
}

export interface LoadResult {
  seconds: number;
  accepted: number;
  /** The first unexpected reply. */
  failure?: string;
}

export interface SmtpLoad {
  /** Mails per second. Rejects when a mail was not accepted. */
  rate(order: LoadOrder): Promise<number>;
}

export const startSmtpLoad = (owner: Owner): SmtpLoad => {
  const child = startChild(owner, './smtp-load-main.ts');
  return {
    async rate(order) {
      child.send(order);
      const [{accepted, seconds, failure}] = (await once(child, 'message')) as [LoadResult];
      if (failure !== undefined || accepted < order.count)
        throw new Error(`${accepted} of ${order.count} mails were taken: ${failure}`);
      return accepted / seconds;
    },
  };
};

/** A bare backend as a process of its own. Resolves with its port. */
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

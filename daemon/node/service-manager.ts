// What systemd is told of this node, by the protocol of sd_notify(3): Node cannot write to datagram sockets, systemd-notify can.
import {execFile} from 'node:child_process';
import {setTimeout as delay} from 'node:timers/promises';
import type {Logger} from 'pino';

export interface ServiceManager {
  /** Assignments such as `READY=1`, in the order of the calls. Nothing happens where no service manager listens. */
  notify(...assignments: string[]): void;
  /** Resolves once everything has been told, or could not be in time. */
  settled(): Promise<void>;
}

interface Needs {
  environment: NodeJS.ProcessEnv;
  log: Logger;
}

/** It waits for the manager to have heard, which may be busy; nobody waits longer than this for that. */
const deadlineMs = 3_000;

export const createServiceManager = ({environment, log}: Needs): ServiceManager => {
  let telling = Promise.resolve();

  return {
    notify(...assignments) {
      if (!environment.NOTIFY_SOCKET) return;
      telling = telling.then(async () => {
        const failure = await notify(assignments, environment);
        if (failure) log.warn({err: failure}, 'systemd-notify failed: the service manager does not know the state of this node');
      });
    },
    settled: async () => Promise.race([telling, delay(deadlineMs, undefined, {ref: false})]),
  };
};

const notify = async (assignments: string[], env: NodeJS.ProcessEnv): Promise<Error | undefined> =>
  new Promise(resolve => {
    execFile('systemd-notify', assignments, {env, timeout: deadlineMs, killSignal: 'SIGKILL'}, error =>
      resolve(error ?? undefined),
    );
  });

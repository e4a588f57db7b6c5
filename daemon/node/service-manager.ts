// Client of systemd's service manager (sd_notify(3)): it runs systemd-notify, as Node cannot write to datagram sockets.
import {execFile} from 'node:child_process';
import {setTimeout as delay} from 'node:timers/promises';
import type {Logger} from 'pino';
import {childEnvironment} from '../../shared/child-environment.ts';

export type ServiceManager = ReturnType<typeof createServiceManager>;

interface Needs {
  environment: NodeJS.ProcessEnv;
  log: Logger;
}

/** systemd-notify waits for the service manager, which may be busy; this is the longest wait. */
const deadlineMs = 3_000;

export const createServiceManager = ({environment, log}: Needs) => {
  let sending = Promise.resolve();

  return {
    /** Sends assignments such as `READY=1`, in the order of the calls. Does nothing without a service manager. */
    notify(...assignments: string[]): void {
      if (!environment.NOTIFY_SOCKET) return;
      sending = sending.then(async () => {
        const failure = await notify(assignments, environment);
        if (failure) log.warn({err: failure}, 'systemd-notify failed: the service manager does not know the state of this node');
      });
    },
    /** Resolves once everything has been sent, or the time limit has passed. */
    settled: async (): Promise<void> => Promise.race([sending, delay(deadlineMs, undefined, {ref: false})]),
  };
};

const notify = async (assignments: string[], environment: NodeJS.ProcessEnv): Promise<Error | undefined> =>
  new Promise(resolve => {
    const env = childEnvironment(environment);
    execFile('systemd-notify', assignments, {env, timeout: deadlineMs, killSignal: 'SIGKILL'}, error =>
      resolve(error ?? undefined),
    );
  });

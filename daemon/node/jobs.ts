// Periodic jobs of a node.
import {Fault} from '../../shared/fault.ts';
import type {Base} from './base.ts';
import type {Cluster} from './cluster.ts';
import type {Services} from './services.ts';

interface Needs {
  links: Cluster['links'];
  services: Services;
  renew(): Promise<void>;
}

/**
 * Each job runs again some time after its last run has ended; a failure is logged. `stop` prevents new runs and waits for the
 * current ones.
 */
export const startTimers = (
  base: Pick<Base, 'config' | 'storage' | 'records' | 'metrics' | 'log'>,
  {links, services, renew}: Needs,
): {stop(): Promise<void>} => {
  const {config, records, metrics, log} = base;
  const every = (ms: number, what: string, job: () => Promise<unknown>): (() => Promise<void>) => {
    let timer: NodeJS.Timeout;
    let running = Promise.resolve();
    let isStopped = false;
    const run = async () => {
      try {
        await job();
      } catch (error) {
        // Requests to other nodes are cut off when the node stops.
        if (!isStopped || !(error instanceof Fault)) log.error({err: error}, `${what} failed`);
      }
      if (!isStopped) arm();
    };
    const arm = () => {
      timer = setTimeout(() => {
        running = run();
      }, ms).unref();
    };
    arm();
    return async () => {
      isStopped = true;
      clearTimeout(timer);
      await running;
    };
  };

  const {postfixPoll} = services;
  const stops = [
    every(2_000, 'checking disk space', base.storage.reserveFile.refresh),
    every(5_000, 'counting requests without a valid key', async () => services.keyFailures.report()),
    every(20_000, 'storing key uses', services.flushKeyUses),
    every(10_000, 'pruning the outbox', links.prune),
    every(1_000, 'checking peer health', async () => {
      records.peerStates.checkHealth();
      await links.pollOutbox();
    }),
    every(1_000, 'fetching late changes', links.fetchLate),
    every(1_000, 'comparing configurations', links.compare),
    every(10_000, 'storing peer reports', records.peerStates.flush),
    every(config.retention.sweep_interval * 1000, 'retention sweep', async () => {
      const expired = await services.retention.sweep();
      if (expired > 0) log.info({expired}, 'held mail removed by retention');
      metrics.expired(expired);
    }),
    ...(postfixPoll
      ? [every(config.postfix.reconcile_interval * 1000, 'looking at Postfix’s queue', postfixPoll.run), postfixPoll.stop]
      : []),
    every(60_000, 'certificate renewal', async () => renew()),
  ];
  return {
    async stop() {
      await Promise.all(stops.map(async stop => stop()));
    },
  };
};

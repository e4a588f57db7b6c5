// Periodic jobs that every node has.
import type {Base} from './base.ts';
import type {Job} from './jobs.ts';
import type {Services} from './services.ts';

export const nodeJobs = (
  base: Pick<Base, 'config' | 'storage' | 'records' | 'metrics' | 'log'>,
  {services, renew}: {services: Services; renew(): Promise<void>},
): Job[] => {
  const {config, storage, records, metrics, log} = base;
  const {postfixPoll} = services;
  return [
    {everyMs: 2_000, what: 'checking disk space', run: storage.reserveFile.refresh},
    {everyMs: 5_000, what: 'counting requests without a valid key', run: async () => services.keyFailures.report()},
    {everyMs: 20_000, what: 'storing key uses', run: services.flushKeyUses},
    {everyMs: 1_000, what: 'checking peer health', run: async () => records.peerStates.checkHealth()},
    {everyMs: 10_000, what: 'storing peer reports', run: records.peerStates.flush},
    {
      everyMs: config.retention.sweep_interval * 1000,
      what: 'retention sweep',
      async run() {
        const expired = await services.retention.sweep();
        if (expired > 0) log.info({expired}, 'held mail removed by retention');
        metrics.expired(expired);
      },
    },
    ...(postfixPoll
      ? [{everyMs: config.postfix.reconcile_interval * 1000, what: 'looking at Postfix’s queue', run: postfixPoll.run}]
      : []),
    ...services.jobs,
    {everyMs: 60_000, what: 'certificate renewal', run: async () => renew()},
  ];
};

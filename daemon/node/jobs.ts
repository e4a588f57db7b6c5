// Periodic jobs of a node.
import type {Logger} from 'pino';
import {Fault} from '../../shared/fault.ts';
import type {Base} from './base.ts';
import type {Services} from './services.ts';
import type {Engine} from './storage.ts';

export interface Job {
  /** The pause between the end of one run and the next one. */
  everyMs: number;
  /** For the log: what failed. */
  what: string;
  run(): Promise<unknown>;
}

interface Needs {
  engine: Engine;
  log: Logger;
}

/**
 * Each job runs again some time after its last run has ended; a failure is logged. `stop` prevents new runs and waits for the
 * current ones.
 */
export const startJobs = (jobs: readonly Job[], {engine, log}: Needs): {stop(): Promise<void>} => {
  let isStopped = false;
  const start = ({everyMs, what, run}: Job): (() => Promise<void>) => {
    let timer: NodeJS.Timeout;
    let running = Promise.resolve();
    const runOnce = async () => {
      try {
        await run();
      } catch (error) {
        // Requests to other nodes are cut off when the node stops. A lost store is logged once, elsewhere.
        const isExpected = error instanceof Fault && (isStopped || (engine.kind === 'shared' && !engine.isReachable()));
        if (!isExpected) log.error({err: error}, `${what} failed`);
      }
      if (!isStopped) arm();
    };
    const arm = () => {
      timer = setTimeout(() => {
        running = runOnce();
      }, everyMs).unref();
    };
    arm();
    return async () => {
      clearTimeout(timer);
      await running;
    };
  };

  const stops = jobs.map(start);
  return {
    async stop() {
      isStopped = true;
      await Promise.all(stops.map(async stop => stop()));
    },
  };
};

/** The jobs that every node has. */
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
    {everyMs: 60_000, what: 'certificate renewal', run: async () => renew()},
  ];
};

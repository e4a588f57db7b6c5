// Runner of periodic jobs.
import type {Logger} from 'pino';
import {Fault} from '../../shared/fault.ts';
import type {Engine} from './storage.ts';

export interface Job {
  /** The pause between the end of one run and the next one. */
  everyMs: number;
  /** For the log: what failed. */
  what: string;
  run(): Promise<unknown>;
  /** A stop does not wait for it: a run may take minutes, and the next process does what it has not done. */
  mayBeCutOff?: true;
  /** Asked after each run: whether it was the last one. */
  isOver?(): boolean;
}

interface Needs {
  engine: Pick<Engine, 'isReachable'>;
  log: Logger;
}

/**
 * Each job runs again some time after its last run has ended; a failure is logged. `stop` prevents new runs and waits for the
 * current ones.
 */
export const startJobs = (jobs: readonly Job[], {engine, log}: Needs): {stop(): Promise<void>} => {
  let isStopped = false;
  const start = ({everyMs, what, run, mayBeCutOff, isOver}: Job): (() => Promise<void>) => {
    let timer: NodeJS.Timeout;
    let running = Promise.resolve();
    const runOnce = async () => {
      try {
        await run();
      } catch (error) {
        // Requests to other nodes are cut off when the node stops. A lost store is logged once, elsewhere.
        const isExpected = error instanceof Fault ? isStopped || !engine.isReachable() : isStopped && mayBeCutOff;
        if (!isExpected) log.error({err: error}, `${what} failed`);
      }
      if (!isStopped && !isOver?.()) arm();
    };
    const arm = () => {
      timer = setTimeout(() => {
        running = runOnce();
      }, everyMs).unref();
    };
    arm();
    return async () => {
      clearTimeout(timer);
      if (!mayBeCutOff) await running;
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

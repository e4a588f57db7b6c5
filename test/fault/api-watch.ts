// An API client that asks again and again while something else goes on.
import {readFile} from 'node:fs/promises';
import {setTimeout as delay} from 'node:timers/promises';
import type {TestNode} from '../helpers/node.ts';

export interface ApiWatch {
  /** Answers during this work do not count: it holds up the node itself. */
  without<T>(work: () => Promise<T>): Promise<T>;
  /** `waitedMs`: how long the node waited for a processor during the slowest answer, which says how busy the machine is. */
  stop(): Promise<{tookMs: number[]; waitedMs: number; failures: string[]}>;
}

const pauseMs = 50;
const paths = ['cluster/status', 'mail/quarantine?limit=10'];

export const watchApi = ({api, pid}: Pick<TestNode, 'api' | 'pid'>): ApiWatch => {
  const tookMs: number[] = [];
  const failures: string[] = [];
  let waitedMs = 0;
  let isOver = false;
  let isPaused = false;
  const ask = async (path: string): Promise<void> => {
    const waitedBefore = await processorWaitMs(pid());
    const askedAt = performance.now();
    try {
      const {status} = await api('GET', path);
      if (status !== 200) failures.push(`GET /${path}: ${status}`);
    } catch (error) {
      failures.push(`GET /${path}: ${String(error)}`);
    }
    const took = performance.now() - askedAt;
    if (isPaused) return;
    if (tookMs.every(other => other < took)) waitedMs = Math.round((await processorWaitMs(pid())) - waitedBefore);
    tookMs.push(took);
  };
  const watch = async (): Promise<void> => {
    for (let n = 0; !isOver; n += 1, await delay(pauseMs)) if (!isPaused) await ask(paths[n % paths.length] ?? '');
  };
  const watching = watch();

  return {
    async without(work) {
      isPaused = true;
      try {
        return await work();
      } finally {
        isPaused = false;
      }
    },
    async stop() {
      isOver = true;
      await watching;
      return {tookMs, waitedMs, failures};
    },
  };
};

/** Of the main thread since its start; see `/proc/PID/schedstat` in the documentation of Linux (sched-stats). */
const processorWaitMs = async (pid: number): Promise<number> => {
  const text = await readFile(`/proc/${pid}/task/${pid}/schedstat`, 'latin1').catch(() => '');
  return Number(text.split(' ')[1] ?? 0) / 1e6;
};

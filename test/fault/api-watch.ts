// An API client that asks again and again while something else goes on.
import {setTimeout as delay} from 'node:timers/promises';
import type {TestNode} from '../helpers/node.ts';

export interface ApiWatch {
  /** Answers during this work do not count: it holds up the node itself. */
  without<T>(work: () => Promise<T>): Promise<T>;
  /** Resolves with the times of all answers. */
  stop(): Promise<{tookMs: number[]; failures: string[]}>;
}

const pauseMs = 50;
const paths = ['cluster/status', 'mail/quarantine?limit=10'];

export const watchApi = ({api}: Pick<TestNode, 'api'>): ApiWatch => {
  const tookMs: number[] = [];
  const failures: string[] = [];
  let isOver = false;
  let isPaused = false;
  const ask = async (path: string): Promise<void> => {
    const askedAt = performance.now();
    try {
      const {status} = await api('GET', path);
      if (status !== 200) failures.push(`GET /${path}: ${status}`);
    } catch (error) {
      failures.push(`GET /${path}: ${String(error)}`);
    }
    if (!isPaused) tookMs.push(performance.now() - askedAt);
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
      return {tookMs, failures};
    },
  };
};

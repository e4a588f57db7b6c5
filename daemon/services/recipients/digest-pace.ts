// How many digests are under way at once: as many as leave this process time for intake, and the more the slower the backends are.
import type {Semaphore} from '../semaphore.ts';

interface Needs {
  atLeast: number;
  atMost: number;
  /** Whether the process had no time left since it was asked before. */
  isBusy?: () => boolean;
}

const tickMs = 50;

export const createPace = ({atLeast, atMost, isBusy = createBusyTest()}: Needs): Pick<Semaphore, 'run'> => {
  let allowed = atLeast;
  let underWay = 0;
  const waiting = new Set<() => void>();
  let timer: NodeJS.Timeout | undefined;

  const begin = (): void => {
    for (const next of waiting) {
      if (underWay >= allowed) return;
      waiting.delete(next);
      underWay += 1;
      next();
    }
  };

  const adapt = (): void => {
    allowed = isBusy() ? Math.max(atLeast, Math.floor(allowed / 2)) : Math.min(atMost, allowed + 1);
    begin();
    timer = setTimeout(adapt, tickMs);
  };

  return {
    async run(work) {
      timer ??= setTimeout(adapt, tickMs);
      await new Promise<void>(resolve => {
        waiting.add(resolve);
        begin();
      });
      try {
        return await work();
      } finally {
        underWay -= 1;
        begin();
        if (underWay === 0) {
          clearTimeout(timer);
          timer = undefined;
        }
      }
    },
  };
};

const mostUtilization = 0.8;

const createBusyTest = (): (() => boolean) => {
  let before = performance.eventLoopUtilization();
  return () => {
    const now = performance.eventLoopUtilization();
    const {utilization} = performance.eventLoopUtilization(now, before);
    before = now;
    return utilization > mostUtilization;
  };
};

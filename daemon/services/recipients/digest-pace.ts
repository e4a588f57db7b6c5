// How many digests are under way at once: as many as leave this process time for intake, and the more the slower the backends are.
import type {Semaphore} from '../semaphore.ts';

interface Needs {
  atMost: number;
  /** Whether the process had no time left since it was asked before. */
  isBusy?: () => boolean;
}

const tickMs = 50;

export const createPace = ({atMost, isBusy = createBusyTest()}: Needs): Pick<Semaphore, 'run'> => {
  let allowed = 1;
  let underWay = 0;
  const waiting = new Set<() => void>();
  let timer: NodeJS.Timeout | undefined;

  const begin = (most = allowed): void => {
    for (const next of waiting) {
      if (underWay >= most) return;
      waiting.delete(next);
      underWay += 1;
      next();
    }
  };

  const adapt = (): void => {
    allowed = isBusy() ? Math.floor(allowed / 2) : Math.min(atMost, allowed + 1);
    // However busy it is, one begins: those under way may wait for a slow backend.
    begin(Math.min(atMost, Math.max(underWay + 1, allowed)));
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
        if (underWay + waiting.size === 0) {
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

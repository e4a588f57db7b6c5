// Locks of held mails: actions on one mail run one after the other.
export interface MailLocks {
  run<T>(queueId: string, work: () => Promise<T>): Promise<T>;
  isLocked(queueId: string): boolean;
  /** Resolves once all actions that are running now have ended. */
  idle(): Promise<void>;
}

export const createMailLocks = (): MailLocks => {
  const underWay = new Map<string, Promise<unknown>>();
  return {
    async run(queueId, work) {
      const before = underWay.get(queueId)?.catch(() => {});
      const own = Promise.resolve(before).then(work);
      underWay.set(queueId, own);
      return own.finally(() => {
        if (underWay.get(queueId) === own) underWay.delete(queueId);
      });
    },
    isLocked: queueId => underWay.has(queueId),
    async idle() {
      await Promise.allSettled(underWay.values());
    },
  };
};

interface Limit {
  /** How long work may wait, in milliseconds. */
  patienceMs: number;
  /** The error for work that waited too long and was not begun. */
  tooLate(): Error;
}

/** Runs at most `count` at a time, in the order of arrival. */
export const createSemaphore = (count: number, limit?: Limit) => {
  let free = count;
  const waiting: (() => void)[] = [];

  const waitForPermit = async (): Promise<void> =>
    new Promise((resolve, reject) => {
      const begin = () => {
        clearTimeout(timer);
        resolve();
      };
      const giveUp = () => {
        waiting.splice(waiting.indexOf(begin), 1);
        reject(limit?.tooLate());
      };
      const timer = limit && setTimeout(giveUp, limit.patienceMs);
      waiting.push(begin);
    });

  return async <T>(work: () => Promise<T>): Promise<T> => {
    if (free === 0) await waitForPermit();
    else free -= 1;
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next) next();
      else free += 1;
    }
  };
};

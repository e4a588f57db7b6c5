// Tells those who keep something of the configuration in memory of what has changed, in the order of the commits.
import type {Touched} from './apply.ts';

export interface Announcer {
  onChange(listener: (touched: Touched[]) => Promise<void>): void;
  /** Resolves once every listener has been told, or has failed and will be told again; never rejects. */
  tell(touched: Touched[]): Promise<void>;
}

const backoff = {firstMs: 100, mostMs: 10_000};

/**
 * What is told has been committed: whoever fails to take it in has a wrong picture of it, and nothing else would ever put that
 * right. So it is told again, after a while or with the next change, to all of them: they build upon each other.
 */
export const createAnnouncer = (onFailure: (error: unknown) => void): Announcer => {
  const listeners: ((touched: Touched[]) => Promise<void>)[] = [];
  let missed: Touched[] = [];
  let failures = 0;
  let timer: NodeJS.Timeout | undefined;
  // One after the other: a listener that reads what it keeps must not be overtaken by one that reads later.
  let told: Promise<void> = Promise.resolve();

  const round = async (fresh: Touched[]): Promise<void> => {
    clearTimeout(timer);
    const touched = distinct([...missed, ...fresh]);
    let hasFailed = false;
    for (const listener of listeners)
      try {
        await listener(touched);
      } catch (error) {
        hasFailed = true;
        onFailure(error);
      }
    missed = hasFailed ? touched : [];
    failures = hasFailed ? failures + 1 : 0;
    if (hasFailed) timer = setTimeout(() => void tell([]), pauseMs(failures)).unref();
  };

  const tell = async (touched: Touched[]): Promise<void> => {
    told = told.then(async () => round(touched));
    return told;
  };

  return {onChange: listener => void listeners.push(listener), tell};
};

const pauseMs = (failures: number): number => Math.min(backoff.mostMs, backoff.firstMs * 2 ** (failures - 1));

const distinct = (touched: Touched[]): Touched[] => [
  ...new Map(touched.map(one => [`${one.kind}/${one.id}/${one.parent_id}`, one])).values(),
];

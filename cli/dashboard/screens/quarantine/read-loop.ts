// Reads of a list that is shown, one at a time, until nothing is missing.
import {asCliError, type CliError} from '../../../errors.ts';
import {createPolling, type PollingOptions} from '../../shell/polling.ts';

interface ReadLoopNeeds extends Pick<PollingOptions, 'live' | 'now'> {
  /** The read that is due, if one is; `isStale` when what has been read may be out of date. */
  next(isStale: boolean): (() => Promise<void>) | undefined;
  /** Equal for two reads of the same rows; undefined for reads that may be repeated. */
  keyOf(isStale: boolean): string | undefined;
  onFailure(failure: CliError): void;
}

interface ReadLoop {
  start(): void;
  stop(): void;
  isStarted(): boolean;
  /** Something else may be missing now. */
  run(): void;
  /** Reads the shown rows again, after a short delay. */
  wake(): void;
  /** Reads the shown rows again now. */
  refresh(): void;
}

/** The delay after an answer that lacks the requested rows, as the list is changing. */
const changingListMs = 1000;

/** stopped ⇄ idle ⇄ reading; idle → resting after a failure, until the next refresh. */
export const createReadLoop = ({live, now, next, keyOf, onFailure}: ReadLoopNeeds): ReadLoop => {
  let isStarted = false;
  let isReading = false;
  let isStale = false;
  let isResting = false;
  let lastKey: string | undefined;

  const run = async (): Promise<void> => {
    if (isReading || !isStarted || isResting) return;
    const read = next(isStale);
    if (!read) return;
    const key = keyOf(isStale);
    if (key !== undefined && key === lastKey) {
      isStale = true;
      lastKey = undefined;
      polling.dueIn(changingListMs);
      return;
    }
    lastKey = key;
    isReading = true;
    isStale = false;
    try {
      await read();
      polling.succeeded();
    } catch (error) {
      const failure = asCliError(error);
      isResting = true;
      polling.failed(failure);
      onFailure(failure);
    } finally {
      isReading = false;
    }
    void run();
  };
  const refresh = (): void => {
    isResting = false;
    isStale = true;
    lastKey = undefined;
    polling.begun();
    void run();
  };
  const polling = createPolling({live, now, read: refresh});

  return {
    start: () => {
      isStarted = true;
      polling.start();
      refresh();
    },
    stop: () => {
      isStarted = false;
      polling.stop();
    },
    isStarted: () => isStarted,
    run: () => void run(),
    wake: polling.wake,
    refresh,
  };
};

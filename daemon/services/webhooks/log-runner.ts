// Runner that sends the log of one node to one webhook. The log is the queue: what is stored is a place in it, and the few entries that
// were not taken.
import {setImmediate as afterOthers} from 'node:timers/promises';
import {Fault} from '../../../shared/fault.ts';
import {createDeliver} from './deliver.ts';
import {createLogSending} from './log-sending.ts';
import {LostLog, openProgress, type Progress} from './progress.ts';
import type {RunnerNeeds} from './runner-needs.ts';
import {createSetAside} from './set-aside.ts';

export interface LogRunner {
  /** Also without `stop`: the log is another node's, or the webhook has to be disabled. */
  hasEnded(): boolean;
  isFailing(): boolean;
  /** Waits a second for requests under way, and stores how far the log was sent. */
  stop(): Promise<void>;
}

const failedMs = 5000;
const stopMs = 1000;

export const startLogRunner = (needs: RunnerNeeds): LogRunner => {
  const {clock, onFailure} = needs;
  const ended = new AbortController();
  const cut = new AbortController();
  const isOver = (): boolean => ended.signal.aborted;
  let progress: Progress | undefined;

  /** Each step resolves with how long to wait before the next one, in milliseconds. */
  const repeat = async (step: () => Promise<number>): Promise<void> => {
    while (!isOver())
      try {
        const waitMs = await step();
        await (waitMs > 0 ? clock.sleep(waitMs, ended.signal) : afterOthers());
      } catch (error) {
        if (error instanceof LostLog) ended.abort();
        // That the store is away is logged elsewhere.
        else if (!(error instanceof Fault)) onFailure(error);
        await clock.sleep(failedMs, ended.signal);
      }
  };

  const run = async (): Promise<void> => {
    await repeat(async () => {
      const opened = await openProgress(needs);
      progress = opened;
      const deliver = createDeliver(needs, {
        progress: opened,
        isOver,
        cut: cut.signal,
        onDisable(because) {
          ended.abort();
          needs.onDisable(because);
        },
      });
      const aside = createSetAside(needs, {progress: opened, deliver});
      const send = createLogSending(needs, {progress: opened, deliver, setAside: aside.set, isOver});
      // Both go on until the runner ends.
      await Promise.all([repeat(send), repeat(aside.step)]);
      return 0;
    });
    await progress?.save().catch(() => {});
  };

  const running = run();
  return {
    hasEnded: isOver,
    isFailing: () => progress !== undefined && progress.now().failing_since !== null,
    async stop() {
      ended.abort();
      const timer = setTimeout(() => cut.abort(), stopMs);
      await running;
      clearTimeout(timer);
    },
  };
};

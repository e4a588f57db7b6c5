// A clock that stands still until a test moves it, for what gets its clock as an argument: databases and sockets go on by the real one.
import type {Clock} from '../../daemon/services/webhooks/runner-needs.ts';

export interface StepClock extends Clock {
  /** Resolves when this many sleep. */
  asleep(count: number): Promise<void>;
  /** Wakes all that are due by then, at once. */
  move(ms: number): void;
  /** As an administrator sets a clock: those that sleep do not wake earlier or later. */
  set(ms: number): void;
}

export const createStepClock = (startMs: number): StepClock => {
  let nowMs = startMs;
  const sleepers = new Set<{atMs: number; wake(): void}>();
  let onSleep = (): void => {};
  return {
    now: () => nowMs,
    sleep: async (ms, signal) =>
      new Promise(resolve => {
        const sleeper = {
          atMs: nowMs + ms,
          wake() {
            sleepers.delete(sleeper);
            signal.removeEventListener('abort', sleeper.wake);
            resolve();
          },
        };
        if (signal.aborted) return resolve();
        signal.addEventListener('abort', sleeper.wake, {once: true});
        sleepers.add(sleeper);
        onSleep();
      }),
    async asleep(count) {
      while (sleepers.size < count)
        await new Promise<void>(resolve => {
          onSleep = resolve;
        });
    },
    set(ms) {
      for (const sleeper of sleepers) sleeper.atMs += ms - nowMs;
      nowMs = ms;
    },
    move(ms) {
      nowMs += ms;
      for (const sleeper of [...sleepers]) if (sleeper.atMs <= nowMs) sleeper.wake();
    },
  };
};

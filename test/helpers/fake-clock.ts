// A clock that stands still until a test advances it. It replaces the clock of the whole process, so such tests are serial.
import {setImmediate as turn} from 'node:timers/promises';
import type {ExecutionContext} from 'ava';

export interface FakeClock {
  now(): number;
  /** Runs the timers that become due, in order, each with its immediate consequences. */
  advance(ms: number): Promise<void>;
}

interface Timer {
  atMs: number;
  run(): void;
  unref(): Timer;
}

export const useFakeClock = (t: ExecutionContext, startMs = Date.parse('2026-03-01T12:00:00Z')): FakeClock => {
  const real = {setTimeout: globalThis.setTimeout, clearTimeout: globalThis.clearTimeout};
  let nowMs = startMs;
  let timers: Timer[] = [];

  const set = (run: (...args: unknown[]) => void, ms = 0, ...args: unknown[]): Timer => {
    const timer: Timer = {atMs: nowMs + ms, run: () => run(...args), unref: () => timer};
    timers.push(timer);
    return timer;
  };
  const clear = (cleared: Timer | undefined): void => {
    timers = timers.filter(timer => timer !== cleared);
  };
  Object.assign(globalThis, {setTimeout: set, clearTimeout: clear});
  t.teardown(() => Object.assign(globalThis, real));

  const settle = async (): Promise<void> => {
    for (let turns = 0; turns < 5; turns += 1) await turn();
  };
  return {
    now: () => nowMs,
    advance: async ms => {
      const untilMs = nowMs + ms;
      await settle();
      for (;;) {
        const [next] = timers.filter(({atMs}) => atMs <= untilMs).sort((a, b) => a.atMs - b.atMs);
        if (!next) break;
        nowMs = Math.max(nowMs, next.atMs);
        clear(next);
        next.run();
        await settle();
      }
      nowMs = untilMs;
    },
  };
};

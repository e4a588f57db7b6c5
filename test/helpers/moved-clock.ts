// Clocks that a test moves. Timers and TLS use the real clocks. The moved ones apply to the whole process, so such tests are
// serial.
import type {ExecutionContext} from 'ava';

/** Moves `Date.now` and `performance.now` ahead by another `ms`. */
export const useMovedClock = (t: ExecutionContext): ((ms: number) => void) => {
  const wall = Date.now;
  const monotonic = performance.now.bind(performance);
  let aheadMs = 0;
  Date.now = () => wall() + aheadMs;
  performance.now = () => monotonic() + aheadMs;
  t.teardown(() => {
    Date.now = wall;
    performance.now = monotonic;
  });
  return ms => {
    aheadMs += ms;
  };
};

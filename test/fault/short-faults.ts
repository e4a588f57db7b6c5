// Short forms of all faults. npm run fault runs the long ones with new seeds. This run repeats the same actions each time, so
// that a failure here is caused by a change.
import test from 'ava';
import type {Fault} from './fault.ts';
import {runFault} from './run-fault.ts';

const seed = 'short';

export const testShort = (faults: readonly Fault[]): void => {
  for (const fault of faults) declare(fault);
};

const declare = (fault: Fault): void =>
  test.serial(`${fault.title}: ${fault.pass}`, async t => {
    t.timeout(240_000);
    const missing = await fault.missing?.();
    if (missing !== undefined) {
      t.log(`skipped: ${missing}`);
      t.pass();
      return;
    }

    const report = await runFault(fault, {seed, rounds: fault.shortRounds, isShort: true, say: () => {}});

    t.log(
      `seed ${seed}; ${Object.entries(report.figures)
        .map(([name, value]) => `${name} ${value}`)
        .join(', ')}`,
    );
    t.deepEqual(report.violations, []);
    t.true(report.rounds >= fault.shortRounds);
  });

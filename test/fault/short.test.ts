// Short forms of all faults. npm run fault runs the long ones with new seeds. This run repeats the same actions each time, so
// that a failure here is caused by a change.
import test from 'ava';
import {faults} from './faults.ts';
import {runFault} from './run-fault.ts';

const seed = 'short';

for (const fault of faults)
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

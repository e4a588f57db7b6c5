import test from 'ava';
import fc from 'fast-check';
import {formatStamp, nextStamp, tick} from '../../../daemon/replication/clock.ts';
import {stampMs} from '../../../daemon/services/records.ts';
import {openTestStore, testStore} from '../../helpers/store.ts';

const wallTime = fc.integer({min: 0, max: 2 ** 44});

test('each stamp is greater than the one before, wherever the wall clock jumps', t => {
  fc.assert(
    fc.property(fc.array(wallTime, {minLength: 1}), times => {
      let last: string | undefined;
      for (const nowMs of times) {
        const stamp = nextStamp(last, nowMs, 3);
        t.true(last === undefined || stamp > last);
        t.true(stampMs(stamp) >= nowMs);
        last = stamp;
      }
    }),
  );
});

test('a stamp tells the wall time when that is ahead', t => {
  const last = formatStamp(1000, 7, 3);

  t.is(nextStamp(last, 1001, 3), formatStamp(1001, 0, 3));
});

test('within a millisecond and while the wall clock is behind, the counter goes on', t => {
  const last = formatStamp(1000, 7, 3);

  t.is(nextStamp(last, 1000, 3), formatStamp(1000, 8, 3));
  t.is(nextStamp(last, 10, 3), formatStamp(1000, 8, 3));
});

test('a counter that is full moves the time on by a millisecond', t => {
  const last = formatStamp(1000, 0xffff, 3);

  const next = nextStamp(last, 1000, 3);

  t.is(next, formatStamp(1001, 0, 3));
  t.true(next > last);
});

test('stamps sort as text by time, then counter, then node', t => {
  const parts = fc.tuple(wallTime, fc.nat(0xffff), fc.integer({min: 1, max: 0xffff}));
  fc.assert(
    fc.property(parts, parts, (a, b) => {
      const order = a[0] - b[0] || a[1] - b[1] || a[2] - b[2];

      t.is(
        Math.sign(order),
        Math.sign(formatStamp(...a) < formatStamp(...b) ? -1 : Number(formatStamp(...a) > formatStamp(...b))),
      );
      t.is(stampMs(formatStamp(...a)), a[0]);
    }),
  );
});

test('the clock goes on from where it was after a restart with the wall clock set back', async t => {
  const {store, filename} = await testStore(t);
  const before = await store.transaction(async tx => tick(tx.state, 5000, 1));
  await store.close();

  const again = await openTestStore(filename);
  t.teardown(again.close);
  const after = await again.transaction(async tx => tick(tx.state, 100, 1));

  t.is(before, formatStamp(5000, 0, 1));
  t.is(after, formatStamp(5000, 1, 1));
});

test('a change that is rolled back leaves the clock as it was', async t => {
  const {store} = await testStore(t);
  const failing = store.transaction(async tx => {
    await tick(tx.state, 5000, 1);
    throw new Error('no');
  });
  await t.throwsAsync(failing);

  t.is(await store.transaction(async tx => tick(tx.state, 100, 1)), formatStamp(100, 0, 1));
});

import test from 'ava';
import {nextTryAt} from '../../../../daemon/services/webhooks/retry-schedule.ts';

const wait = (tries: number, options: {random?: number; retryAfterMs?: number} = {}) =>
  nextTryAt(tries, {now: 0, random: 0.5, ...options});
const hours = 3600;

test('an event is tried for some 75 hours, ten times', t => {
  const waits = Array.from({length: 10}, (_, at) => wait(at + 1));

  t.deepEqual(
    waits.map(ms => ms && ms / 1000),
    [5, 300, 1800, 2 * hours, 5 * hours, 10 * hours, 14 * hours, 20 * hours, 24 * hours, undefined],
  );
});

test('a wait varies by a tenth', t => {
  t.deepEqual([wait(2, {random: 0}), wait(2, {random: 1})], [270_000, 330_000]);
});

test('a receiver may ask for a longer wait, up to the next one of the schedule', t => {
  t.is(wait(1, {retryAfterMs: 60_000}), 60_000);
  t.is(wait(1, {retryAfterMs: 86_400_000}), 300_000);
  t.is(wait(2, {retryAfterMs: 1000}), 300_000);
  t.is(wait(9, {retryAfterMs: 1e12}), 24 * hours * 1000);
});

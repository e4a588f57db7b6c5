import test from 'ava';
import {createRateLimiter} from '../../../daemon/services/rate-limit.ts';

const minute = 60_000;
const start = 30_000_000 * minute;

test('what other nodes have counted counts here', t => {
  const limiter = createRateLimiter(() => start + 1000);
  limiter.take(7, 10);

  limiter.hear(2, {window: start / minute, counts: [[7, 4]]}, start + 1000);
  limiter.hear(3, {window: start / minute, counts: [[7, 3]]}, start + 1000);

  t.like(limiter.take(7, 10), {isAllowed: true, remaining: 1});
  t.like(limiter.take(7, 10), {isAllowed: true, remaining: 0});
  t.like(limiter.take(7, 10), {isAllowed: false, remaining: 0});
  t.like(limiter.take(8, 10), {isAllowed: true, remaining: 9});
});

test('the latest word of a node replaces the one before', t => {
  const limiter = createRateLimiter(() => start + 1000);

  for (const count of [3, 5, 9]) limiter.hear(2, {window: start / minute, counts: [[7, count]]}, start + 1000);

  t.like(limiter.take(7, 10), {isAllowed: true, remaining: 0});
});

test('what was said earlier and comes later takes nothing back', t => {
  const limiter = createRateLimiter(() => start + 1000);
  limiter.hear(2, {window: start / minute, counts: [[7, 10]]}, start + 1000);

  limiter.hear(2, {window: start / minute, counts: [[7, 4]]}, start + 900);

  t.false(limiter.take(7, 10).isAllowed);
});

test('a node tells only what it has counted itself', t => {
  const limiter = createRateLimiter(() => start + 1000);
  limiter.hear(2, {window: start / minute, counts: [[7, 4]]}, start + 1000);
  limiter.take(7, 10);
  limiter.take(7, 10);

  t.deepEqual(limiter.counts(), {window: start / minute, counts: [[7, 2]]});
  t.is(limiter.taken, 2);
});

test('what was counted in the last minute does not count in this one', t => {
  let now = start + 59_000;
  const limiter = createRateLimiter(() => now);
  limiter.hear(2, {window: start / minute, counts: [[7, 10]]}, now);
  t.false(limiter.take(7, 10).isAllowed);

  now = start + minute + 10;
  // Sent before the minute was over, and here after it.
  limiter.hear(2, {window: start / minute, counts: [[7, 10]]}, now - 20);

  t.like(limiter.take(7, 10), {isAllowed: true, remaining: 9});
});

test('a node whose clock is ten minutes ahead counts all the same', t => {
  const now = start + 20_000;
  const limiter = createRateLimiter(() => now);

  limiter.hear(2, {window: start / minute + 10, counts: [[7, 10]]}, now + 10 * minute);

  t.false(limiter.take(7, 10).isAllowed);
});

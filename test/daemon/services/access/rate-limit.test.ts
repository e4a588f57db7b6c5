import test from 'ava';
import fc from 'fast-check';
import {createRateLimiter} from '../../../../daemon/services/access/rate-limit.ts';
import {limitedNodes, mostInAMinute} from '../../../helpers/limited-nodes.ts';

const minute = 60_000;
const start = 30_000_000 * minute;

/** A limiter whose clocks are set by the test. */
const limiterAt = (ms: number) => {
  const clock = {ms};
  return {clock, limiter: createRateLimiter({now: () => clock.ms, monotonic: () => clock.ms})};
};

test('what other nodes have counted counts here', t => {
  const {limiter} = limiterAt(start + 1000);
  limiter.take(7, 10);

  limiter.receiveCounts(2, {window: start / minute, counts: [[7, 4]]}, start + 1000);
  limiter.receiveCounts(3, {window: start / minute, counts: [[7, 3]]}, start + 1000);

  t.like(limiter.take(7, 10), {isAllowed: true, remaining: 1});
  t.like(limiter.take(7, 10), {isAllowed: true, remaining: 0});
  t.like(limiter.take(7, 10), {isAllowed: false, remaining: 0});
  t.like(limiter.take(8, 10), {isAllowed: true, remaining: 9});
});

test('the latest word of a node replaces the one before', t => {
  const {limiter} = limiterAt(start + 1000);

  for (const count of [3, 5, 9]) limiter.receiveCounts(2, {window: start / minute, counts: [[7, count]]}, start + 1000);

  t.like(limiter.take(7, 10), {isAllowed: true, remaining: 0});
});

test('what was said earlier and comes later takes nothing back', t => {
  const {limiter} = limiterAt(start + 1000);
  limiter.receiveCounts(2, {window: start / minute, counts: [[7, 10]]}, start + 1000);

  limiter.receiveCounts(2, {window: start / minute, counts: [[7, 4]]}, start + 900);

  t.false(limiter.take(7, 10).isAllowed);
});

test('what was said in the minute before, and comes later, counts nothing twice', t => {
  const {limiter, clock} = limiterAt(start + minute + 500);
  const first = {window: start / minute - 1, counts: []};
  const second = {window: start / minute, counts: [[7, 5]] as [number, number][]};
  const third = {window: start / minute + 1, counts: [], before: second};
  limiter.receiveCounts(2, third, clock.ms);

  limiter.receiveCounts(2, {...second, before: first}, clock.ms - 600);
  limiter.receiveCounts(2, third, clock.ms + 100);

  t.like(limiter.take(7, 10), {remaining: 4});
});

test('a node tells what it has counted itself, in this minute and the one before', t => {
  const {limiter, clock} = limiterAt(start + 59_000);
  limiter.receiveCounts(2, {window: start / minute, counts: [[7, 4]]}, start + 59_000);
  limiter.take(7, 10);
  limiter.take(7, 10);
  const first = limiter.counts();
  clock.ms += 2000;
  limiter.take(7, 10);

  t.deepEqual(first, {window: start / minute, counts: [[7, 2]]});
  t.deepEqual(limiter.counts(), {window: start / minute + 1, counts: [[7, 1]], before: first});
  t.is(limiter.taken, 3);
});

test('the limit comes back a minute after it was used, and not with the minute of the clock', t => {
  const {limiter, clock} = limiterAt(start + 58_500);

  t.deepEqual(limiter.take(1, 2), {isAllowed: true, awaitsPeers: false, limit: 2, remaining: 1, resetSeconds: 60});
  clock.ms += 2000;
  t.like(limiter.take(1, 2), {isAllowed: true, remaining: 0, resetSeconds: 58});
  t.deepEqual(limiter.take(1, 2), {isAllowed: false, awaitsPeers: false, limit: 2, remaining: 0, resetSeconds: 58});
  t.true(limiter.take(2, 2).isAllowed);
  clock.ms += 57_999;
  t.like(limiter.take(1, 2), {isAllowed: false, resetSeconds: 1});
  clock.ms += 1;
  t.like(limiter.take(1, 2), {isAllowed: true, remaining: 0, resetSeconds: 2});
});

test('what a node counted last in a minute is heard of in the next one', t => {
  const {limiter, clock} = limiterAt(start + 59_900);
  limiter.receiveCounts(2, {window: start / minute, counts: [[7, 3]]}, clock.ms);
  clock.ms += 1000;
  const before = {window: start / minute, counts: [[7, 9]] as [number, number][]};

  limiter.receiveCounts(2, {window: start / minute + 1, counts: [], before}, clock.ms);

  t.like(limiter.take(7, 10), {isAllowed: true, remaining: 0});
});

test('a node that is heard for the first time has used what it used before this minute at its end at the latest', t => {
  const {limiter, clock} = limiterAt(start + 40_000);
  const before = {window: start / minute - 1, counts: [[7, 10]] as [number, number][]};
  limiter.receiveCounts(2, {window: start / minute, counts: [], before}, clock.ms);

  t.like(limiter.take(7, 10), {isAllowed: false, resetSeconds: 20});
  clock.ms += 20_000;
  t.true(limiter.take(7, 10).isAllowed);
});

test('a node whose clock is ten minutes ahead counts all the same, and so does one of 0.4 that says nothing of the minute before', t => {
  const {limiter} = limiterAt(start + 20_000);

  limiter.receiveCounts(2, {window: start / minute + 10, counts: [[7, 10]]}, start + 20_000 + 10 * minute);

  t.false(limiter.take(7, 10).isAllowed);
});

test('a node lets its share pass at once, and more when the others have heard of that', t => {
  const {limiter, clock} = limiterAt(start);
  for (const peer of [2, 3]) limiter.answered(peer, limiter.counts());
  const pass = () => Array.from({length: 60}, () => limiter.take(7, 60)).filter(({isAllowed}) => isAllowed).length;

  t.is(pass(), 15);
  t.deepEqual(limiter.take(7, 60), {isAllowed: false, awaitsPeers: true, limit: 60, remaining: 0, resetSeconds: 1});
  limiter.answered(2, limiter.counts());
  t.is(pass(), 0);
  limiter.answered(3, limiter.counts());
  t.is(pass(), 15);
  clock.ms += minute;
  for (const peer of [2, 3]) limiter.answered(peer, limiter.counts());
  t.is(pass(), 15);
});

test('nothing waits for a node that does not answer', t => {
  const {limiter} = limiterAt(start);
  for (const peer of [2, 3]) limiter.answered(peer, limiter.counts());
  for (let n = 0; n < 15; n += 1) limiter.take(7, 60);

  limiter.unanswered(2);
  limiter.unanswered(3);

  t.like(limiter.take(7, 60), {isAllowed: true, remaining: 44});
});

test('a limit below the number of nodes lets one pass on each', t => {
  const {limiter} = limiterAt(start);
  for (const peer of [2, 3]) limiter.answered(peer, limiter.counts());

  t.true(limiter.take(7, 1).isAllowed);
});

test('in any minute three nodes that hear one another within a second let 1.5 × the limit pass at most', t => {
  const asked = fc.record({atMs: fc.nat(150_000), node: fc.nat(2), count: fc.integer({min: 1, max: 200})});
  fc.assert(
    fc.property(
      fc.integer({min: 4, max: 120}),
      fc.array(asked, {minLength: 1, maxLength: 80}),
      fc.array(fc.integer({min: 0, max: 500}), {minLength: 6, maxLength: 6}),
      fc.array(fc.integer({min: -600_000, max: 600_000}), {minLength: 3, maxLength: 3}),
      (limit, bursts, delaysMs, clockOffsetsMs) => {
        const nodes = limitedNodes(7, limit, {clockOffsetsMs, delaysMs});
        for (const {atMs, node, count} of bursts) nodes.askAt(2000 + atMs, node, count);

        const most = mostInAMinute(nodes.run(160_000));

        if (most > 1.5 * limit) throw new Error(`${most} passed of ${limit}`);
      },
    ),
    {numRuns: 300},
  );
  t.pass();
});

for (const [what, asking] of [
  ['one node', [0]],
  ['three nodes at once', [0, 1, 2]],
] as const)
  test(`who asks ${what} without a pause gets the limit in a minute, over its turns, and never more than 1.5 × it`, t => {
    const limit = 60;
    const nodes = limitedNodes(7, limit, {clockOffsetsMs: [0, 900, -1700], delaysMs: [20, 400, 5]});
    for (let atMs = 56_000; atMs < 300_000; atMs += 50) for (const node of asking) nodes.askAt(atMs, node, 5);

    const passed = nodes.run(300_000);

    t.true(mostInAMinute(passed) <= 1.5 * limit, `${mostInAMinute(passed)} passed`);
    t.true(passed.filter(atMs => atMs < 116_000).length >= limit);
    // A limit of 60 a minute for four minutes, plus the burst of the first.
    t.true(passed.length >= 4 * limit, `${passed.length} passed`);
  });

test('counts do not stay for ever', t => {
  const {limiter, clock} = limiterAt(start);
  for (let n = 0; n < 5; n += 1) {
    for (let keyId = 1; keyId <= 100; keyId += 1) limiter.take(keyId + n * 100, 10);
    clock.ms += minute;
  }

  const {counts, before} = limiter.counts();

  t.deepEqual([counts.length, before?.counts.length], [0, 100]);
});

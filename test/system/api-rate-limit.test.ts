import {setTimeout as sleep} from 'node:timers/promises';
import test from 'ava';
import {createRateLimiter} from '../../daemon/services/rate-limit.ts';
import {useApiNode} from '../helpers/api-node.ts';

const node = useApiNode();

/** Windows are whole minutes of the clock: a test that would straddle two waits for the next one. */
const roomInThisMinute = async () => {
  const leftMs = 60_000 - (Date.now() % 60_000);
  if (leftMs < 15_000) await sleep(leftMs + 50);
};

test('a key is refused with 429 once its limit is used up, errors counting like successes, and other keys are not', async t => {
  await roomInThisMinute();
  const {key} = await node().createKey('read-only', {rate_limit_per_minute: 3});
  const other = await node().createKey('read-only', {rate_limit_per_minute: 3});

  const answers = [];
  for (const path of ['auth/me', 'nothing', 'audit?limit=0', 'auth/me', 'domains'])
    answers.push(await node().api('GET', path, {key}));

  t.deepEqual(
    answers.map(({status}) => status),
    [200, 404, 400, 429, 429],
  );
  for (const [at, {headers}] of answers.entries()) {
    t.is(headers['ratelimit-policy'], '"minute";q=3;w=60');
    const [, remaining, seconds] = /^"minute";r=(\d+);t=(\d+)$/.exec(String(headers.ratelimit)) ?? [];
    t.is(Number(remaining), Math.max(0, 2 - at));
    t.true(Number(seconds) >= 1 && Number(seconds) <= 60);
  }
  const refused = answers[3];
  t.is(refused?.json.error.code, 'rate_limited');
  t.regex(String(refused?.headers['retry-after']), /^([1-9]|[1-5]\d|60)$/);
  t.is((await node().api('GET', 'auth/me', {key: other.key})).status, 200);
});

test('of many requests at once exactly the limit passes', async t => {
  await roomInThisMinute();
  const {key} = await node().createKey('read-only', {rate_limit_per_minute: 10});

  const answers = await Promise.all(Array.from({length: 30}, () => node().api('GET', 'auth/me', {key})));

  t.is(answers.filter(({status}) => status === 200).length, 10);
  t.is(answers.filter(({status}) => status === 429).length, 20);
});

test('a request that was refused does nothing', async t => {
  await roomInThisMinute();
  const {key} = await node().createKey('full-admin', {rate_limit_per_minute: 1});
  await node().api('GET', 'auth/me', {key});

  t.is((await node().api('POST', 'domains', {key, body: {name: 'refused.test', direction: 'outbound'}})).status, 429);

  t.false((await node().api('GET', 'domains')).json.data.some(({name}: {name: string}) => name === 'refused.test'));
});

test('the limit is there again with the next minute of the clock, whole', t => {
  let now = Date.parse('2026-03-01T09:00:58.500Z');
  const limiter = createRateLimiter(() => now);

  t.deepEqual(limiter.take(1, 2), {isAllowed: true, limit: 2, remaining: 1, resetSeconds: 2});
  t.deepEqual(limiter.take(1, 2), {isAllowed: true, limit: 2, remaining: 0, resetSeconds: 2});
  t.deepEqual(limiter.take(1, 2), {isAllowed: false, limit: 2, remaining: 0, resetSeconds: 2});
  t.true(limiter.take(2, 2).isAllowed);
  now += 1499;
  t.like(limiter.take(1, 2), {isAllowed: false, resetSeconds: 1});
  now += 1;
  t.deepEqual(limiter.take(1, 2), {isAllowed: true, limit: 2, remaining: 1, resetSeconds: 60});
});

import test from 'ava';
import {useNode} from '../helpers/use-node.ts';

const node = useNode();

test('a key is refused with 429 once its limit is used up, errors counting like successes, and other keys are not', async t => {
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

test('a request that was refused does nothing', async t => {
  const {key} = await node().createKey('full-admin', {rate_limit_per_minute: 1});
  await node().api('GET', 'auth/me', {key});

  t.is((await node().api('POST', 'domains', {key, body: {name: 'refused.test', direction: 'outbound'}})).status, 429);

  t.false((await node().api('GET', 'domains')).json.data.some(({name}: {name: string}) => name === 'refused.test'));
});

// The rate limit of a key across nodes that exchange their counts.
import test from 'ava';
import {mostInAMinute} from '../helpers/limited-nodes.ts';
import {useCluster} from '../helpers/use-cluster.ts';

const cluster = useCluster();
const limit = 60;

test.serial('who asks three nodes at once, again and again, gets the limit and half of it more at most', async t => {
  const {alpha, all, converged} = await cluster(t);
  const {key} = await alpha.createKey('read-only', {rate_limit_per_minute: limit});
  await converged();
  const passed: number[] = [];

  for (let wave = 0; wave < 5; wave += 1)
    await Promise.all(
      all.flatMap(node =>
        Array.from({length: 40}, async () => {
          const {status} = await node.api('GET', 'auth/me', {key});
          if (status === 200) passed.push(performance.now());
          else t.is(status, 429);
        }),
      ),
    );

  t.true(passed.length >= limit, `${passed.length} passed`);
  t.true(mostInAMinute(passed) <= 1.5 * limit, `${mostInAMinute(passed)} passed within a minute`);
  t.log(`${passed.length} of ${5 * 3 * 40} passed`);
});

test.serial('who asks one node gets the whole limit at once', async t => {
  const {alpha, beta, converged} = await cluster(t);
  const {key} = await alpha.createKey('read-only', {rate_limit_per_minute: 10});
  await converged();

  const answers = await Promise.all(Array.from({length: 30}, async () => beta.api('GET', 'auth/me', {key})));

  t.is(answers.filter(({status}) => status === 200).length, 10);
});

test.serial('a node that cannot hear the others goes on with the limit for itself', async t => {
  const {alpha, beta, isolate, converged} = await cluster(t);
  const {key} = await alpha.createKey('read-only', {rate_limit_per_minute: 12});
  await converged();
  isolate('beta', 'refuse');

  const answers = await Promise.all(Array.from({length: 20}, async () => beta.api('GET', 'auth/me', {key})));

  t.is(answers.filter(({status}) => status === 200).length, 12);
});

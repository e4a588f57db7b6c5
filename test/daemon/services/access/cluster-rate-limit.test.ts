import test from 'ava';
import {createClusterRateLimits, createRateLimiter} from '../../../../daemon/services/access/rate-limit.ts';

/** A node with a peer that gets all counts when `answer` is called: at every `sendHeartbeats`, unless it is silent. */
const withPeer = (isSilent = false) => {
  const limiter = createRateLimiter({now: Date.now, monotonic: () => performance.now()});
  const answer = () => limiter.answered(2, limiter.counts());
  answer();
  let told = 0;
  const limits = createClusterRateLimits({
    limiter,
    sendHeartbeats: async () => {
      told += 1;
      if (isSilent) return new Promise(() => undefined);
      await new Promise(resolve => setTimeout(resolve, 5));
      answer();
    },
  });
  return {limiter, limits, told: () => told};
};

test('of many requests at once exactly the limit passes on one node, which tells its peer in between', async t => {
  const {limits, told} = withPeer();

  const states = await Promise.all(Array.from({length: 30}, () => limits.take(7, 10)));

  t.is(states.filter(({isAllowed}) => isAllowed).length, 10);
  t.true(states.every(({awaitsPeers}) => !awaitsPeers));
  t.true(told() > 0);
});

test('a request within the share of the node waits for nobody', async t => {
  const {limits, told} = withPeer();

  t.true((await limits.take(7, 10)).isAllowed);

  t.is(told(), 0);
});

test('a request is refused when the peer has not heard in time', async t => {
  const {limits} = withPeer(true);
  await limits.take(7, 2);

  t.like(await limits.take(7, 2), {isAllowed: false, awaitsPeers: true, resetSeconds: 1});
});

test('a peer that turns out not to answer keeps nobody', async t => {
  const {limiter} = withPeer();
  const limits = createClusterRateLimits({limiter, sendHeartbeats: async () => limiter.unanswered(2)});

  const states = [];
  for (let n = 0; n < 4; n += 1) states.push((await limits.take(7, 4)).isAllowed);

  t.deepEqual(states, [true, true, true, true]);
});

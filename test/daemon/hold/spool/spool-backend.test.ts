import test from 'ava';
import {createSpoolBackend} from '../../../../daemon/hold/spool/spool-backend.ts';
import {testQueue} from '../../../helpers/hold-queue.ts';

test('a release that would wait for long for others is refused before anything of it is begun', async t => {
  const {store, spool, hold} = await testQueue(t);
  const ids = ['Q1w2E3r4T5', 'Q1w2E3r4T6'];
  for (const id of ids) await hold(id);
  const [first, second] = await Promise.all(ids.map(async id => store.hold.find(id)));
  if (!first || !second) throw new Error('not held');
  let finish = () => {};
  let begin = () => {};
  const hasBegun = new Promise<void>(resolve => {
    begin = resolve;
  });
  let deliveries = 0;
  const keeper = createSpoolBackend({
    spool,
    deliver: {
      async deliver() {
        deliveries += 1;
        await new Promise<void>(resolve => {
          finish = resolve;
          begin();
        });
        return [];
      },
    },
    routeOf: () => ({servers: []}),
    maxDeliveries: 1,
    patienceMs: 50,
  });
  const hanging = keeper.release(first, () => undefined);
  await hasBegun;

  const fault = await t.throwsAsync(keeper.release(second, () => undefined));

  t.like(fault, {code: 'unavailable', details: {retryAfterSeconds: 10}});
  t.is(deliveries, 1);
  finish();
  await hanging;
});

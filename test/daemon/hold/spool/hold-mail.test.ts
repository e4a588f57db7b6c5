import test from 'ava';
import {testQueue} from '../../../helpers/hold-queue.ts';
import {spoolNames} from '../../../helpers/spool-names.ts';

const id = 'Q1w2E3r4T5';

test('a mail has its row only after its name is on stable storage', async t => {
  const {store, spool, hold, told} = await testQueue(t);
  const {sync} = spool;
  const atSync: unknown[] = [];
  spool.sync = async () => {
    atSync.push(await spoolNames(spool), await store.hold.find(id), [...told]);
    await sync();
  };

  await hold(id);

  t.deepEqual(atSync, [[id], undefined, []]);
  t.is((await store.hold.find(id))?.state, 'held');
  t.deepEqual(told, [`held ${id}`]);
});

test('a mail whose name cannot be put on stable storage is not held, and leaves nothing', async t => {
  const {store, spool, hold, told} = await testQueue(t);
  spool.sync = async () => Promise.reject(new Error('EIO'));

  await t.throwsAsync(hold(id), {message: 'EIO'});

  t.is(await store.hold.find(id), undefined);
  t.deepEqual(await spoolNames(spool), []);
  t.deepEqual(told, []);
});

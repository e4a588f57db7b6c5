// Which node sends the log of which one, by the clock of the database.
import {setTimeout as delay} from 'node:timers/promises';
import type {ExecutionContext} from 'ava';
import type {CommonStore} from '../../../../daemon/services/common-store.ts';
import {newCluster, storeOf} from '../../../helpers/common-store.ts';
import {testWithPostgres, usePostgres} from '../../../helpers/test-with-postgres.ts';
import {progressOf} from '../../../helpers/webhook-progress.ts';

const postgres = usePostgres();

const retention = {spam: 1, phishing: 1, sandbox: 1, rbl: 1};
const note = async (store: CommonStore) => store.notePresence({seq: 0, retention_ms: retention, longest_ms: retention});

const start = async (t: ExecutionContext) => {
  const settings = await newCluster(postgres());
  const [alpha, beta, gamma] = [
    await storeOf(t, settings, {nodeId: 'alpha', nodeNo: 1}),
    await storeOf(t, settings, {nodeId: 'beta', nodeNo: 2}),
    await storeOf(t, settings, {nodeId: 'gamma', nodeNo: 3}),
  ];
  const client = await postgres().connect(settings.database);
  t.teardown(async () => client.end());
  for (const store of [alpha, beta, gamma]) await note(store);
  return {
    ...{alpha, beta, gamma},
    /** As if this node had died so long ago. */
    async died(name: string, secondsAgo: number) {
      const ago = `now() - interval '${secondsAgo} s'`;
      await client.query(`UPDATE node_presence SET last_seen = ${ago} WHERE node_id = '${name}'`);
      await client.query(`UPDATE webhook_sender SET until = ${ago} + interval '20 s' WHERE holder = '${name}'`);
    },
  };
};

const held = async (store: CommonStore) => (await store.logHolds.renew()).held.toSorted();

testWithPostgres('each node has its own log while all live', async t => {
  const {alpha, beta, gamma} = await start(t);

  for (const round of [1, 2])
    for (const [name, store] of Object.entries({alpha, beta, gamma})) t.deepEqual(await held(store), [name], String(round));
});

testWithPostgres('the log of a node that died is taken by one other node once its hold is over', async t => {
  const {alpha, beta, gamma, died} = await start(t);
  for (const store of [alpha, beta, gamma]) await held(store);

  await died('alpha', 19);
  t.deepEqual(await held(beta), ['beta']);
  await died('alpha', 21);
  const takers = await Promise.all([held(beta), held(gamma), held(beta), held(gamma)]);

  t.is(new Set(takers.filter(names => names.includes('alpha')).map(names => names.join())).size, 1);
  t.true(takers.some(names => names.includes('alpha')));
});

testWithPostgres('a node that died before it had a log to send has one as well', async t => {
  const {beta, died} = await start(t);
  await died('alpha', 21);

  t.deepEqual(await held(beta), ['alpha', 'beta']);
});

testWithPostgres('a node that is back gets its log when the other one gives it back', async t => {
  const {alpha, beta, died} = await start(t);
  await held(alpha);
  await died('alpha', 21);
  t.deepEqual(await held(beta), ['alpha', 'beta']);

  await note(alpha);
  t.deepEqual(await held(alpha), []);
  t.deepEqual(await beta.logHolds.renew(), {held: ['beta'], taken: [], returning: ['alpha']});
  t.deepEqual(await held(alpha), []);
  await beta.logHolds.giveBack('alpha');

  t.deepEqual(await held(alpha), ['alpha']);
  t.deepEqual(await beta.logHolds.renew(), {held: ['beta'], taken: [], returning: []});
});

testWithPostgres('a node that did not renew its hold in time learns that another one may have sent its log', async t => {
  const {alpha, beta, died} = await start(t);
  t.like(await alpha.logHolds.renew(), {held: ['alpha'], taken: ['alpha']});
  t.like(await alpha.logHolds.renew(), {held: ['alpha'], taken: []});
  await died('alpha', 21);
  t.deepEqual(await held(beta), ['alpha', 'beta']);
  await note(alpha);
  t.like(await beta.logHolds.renew(), {returning: ['alpha']});
  await beta.logHolds.giveBack('alpha');

  t.like(await alpha.logHolds.renew(), {held: ['alpha'], taken: ['alpha']});
  await died('alpha', 21);
  t.like(await alpha.logHolds.renew(), {held: ['alpha'], taken: ['alpha']});
});

testWithPostgres('a node that stands still in a transaction keeps others from its log for seconds only', async t => {
  const {alpha, beta, died} = await start(t);
  await held(alpha);
  let isInside = (): void => {};
  const inside = new Promise<void>(resolve => {
    isInside = resolve;
  });
  const still = alpha.transaction(async tx => {
    await tx.holdsLog('alpha');
    isInside();
    await delay(12_000);
    await tx.webhooks.save(progressOf({webhook_id: 1, logged_by: 'alpha'}, 1));
  });
  const lost = t.throwsAsync(still);
  await inside;
  await Promise.race([died('alpha', 21), delay(6000)]);

  await delay(6000);
  t.true((await held(beta)).includes('alpha'));
  await lost;
  t.deepEqual(await alpha.webhooks.progress(), []);
});

testWithPostgres('a restarted node has its log at once', async t => {
  const {alpha} = await start(t);
  t.deepEqual(await held(alpha), ['alpha']);
  t.deepEqual(await held(alpha), ['alpha']);
});

testWithPostgres('a node that lost a log learns it in its transaction, and nobody takes one during a transaction', async t => {
  const {alpha, beta, died} = await start(t);
  await held(alpha);
  const holds = async (store: CommonStore, name: string) => store.transaction(async tx => tx.holdsLog(name));

  t.true(await holds(alpha, 'alpha'));
  t.false(await holds(beta, 'alpha'));
  const order: string[] = [];
  let taken: Promise<unknown> = Promise.resolve();
  await alpha.transaction(async tx => {
    t.true(await tx.holdsLog('alpha'));
    taken = beta.logHolds.giveBack('alpha').then(async () => {
      order.push('taken');
    });
    await taken;
    order.push('committed');
  });
  await died('alpha', 21);
  t.false(await holds(alpha, 'alpha'));
  await held(beta);

  t.true(await holds(beta, 'alpha'));
  t.false(await holds(alpha, 'alpha'));
});

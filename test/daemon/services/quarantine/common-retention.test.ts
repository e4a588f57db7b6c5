import {buffer} from 'node:stream/consumers';
import {setTimeout as delay} from 'node:timers/promises';
import {createCommonRetention} from '../../../../daemon/services/quarantine/retention.ts';
import type {Domain} from '../../../../shared/domain.ts';
import type {Reason} from '../../../../shared/reason.ts';
import type {DomainRetention} from '../../../../shared/retention.ts';
import {type HoldNode, startHoldNode} from '../../../helpers/common-hold.ts';
import {newCluster, storeOf} from '../../../helpers/common-store.ts';
import type {Teardown} from '../../../helpers/store.ts';
import {testWithPostgres, usePostgres} from '../../../helpers/test-with-postgres.ts';

const postgres = usePostgres();
const dayMs = 24 * 3600 * 1000;

const always = (ms: number): Record<Reason, number> => ({spam: ms, phishing: ms, sandbox: ms, rbl: ms});

/** Beta is gone; alpha sweeps. */
const startTwo = async (t: Teardown, betaKeepsMs: number) => {
  const settings = await newCluster(postgres());
  const alpha = await startHoldNode(t, settings);
  const beta = await startHoldNode(t, settings, {nodeId: 'beta', nodeNo: 2});
  await beta.store.notePresence({seq: 0, retention_ms: always(betaKeepsMs), longest_ms: always(betaKeepsMs)});
  return {alpha, beta};
};

interface Options {
  isSuspended?: boolean;
  now?: () => number;
  /** Of every domain. */
  retention?: DomainRetention;
}

const retentionOf = ({store, queues}: HoldNode, options: Options = {}) =>
  createCommonRetention({
    nodeId: 'alpha',
    store,
    retentionMs: () => always(30 * dayMs),
    domains: {findById: () => ({retention: options.retention}) as Domain, findByName: () => undefined},
    expire: async (nodeId, queueId) => queues.of(nodeId).expire(queueId),
    isSuspended: () => options.isSuspended ?? false,
    now: options.now ?? Date.now,
  });

testWithPostgres(
  'mail of a node that is gone expires by the setting of that node, with its bytes, and no other mail does',
  async t => {
    const {alpha, beta} = await startTwo(t, 1);
    await alpha.hold('Mail000001');
    await beta.hold('Mail000002');
    await delay(5);

    const expired = await retentionOf(alpha).sweep();

    t.is(expired, 1);
    t.is((await alpha.store.hold.find('Mail000001'))?.state, 'held');
    t.is((await beta.store.hold.find('Mail000002'))?.state, 'expired');
    t.is((await buffer(beta.store.bodies.open('Mail000002'))).length, 0);
  },
);

testWithPostgres('the retention of its domain counts for mail of every node', async t => {
  const {alpha, beta} = await startTwo(t, 1);
  await alpha.hold('Mail000001');
  await beta.hold('Mail000002');
  await delay(5);

  const kept = await retentionOf(alpha, {retention: {days: 30, by_reason: {}}}).sweep();
  const expired = await retentionOf(alpha, {retention: {days: 1 / dayMs, by_reason: {}}}).sweep();

  t.deepEqual([kept, expired], [0, 2]);
});

testWithPostgres('a node of 0.8 finds the longest time for which any domain holds mail, and others that of the node', async t => {
  const settings = await newCluster(postgres());
  const alpha = await storeOf(t, settings);
  const beta = await storeOf(t, settings, {nodeId: 'beta', nodeNo: 2});
  await beta.notePresence({seq: 0, retention_ms: always(5), longest_ms: always(9)});

  const sql = 'SELECT retention_ms FROM node_presence';
  const [row] = await postgres().query<{retention_ms: string}>(sql, {database: settings.database});

  t.like(JSON.parse(row?.retention_ms ?? ''), always(9));
  t.deepEqual((await alpha.presence()).find(({node_id}) => node_id === 'beta')?.retention_ms, always(5));
});

testWithPostgres('mail in the Postfix of another node is left to it, and keeps nothing else from expiring', async t => {
  const {alpha, beta} = await startTwo(t, 1);
  for (let n = 0; n < 500; n += 1) await beta.holdInPostfix(`Postfix${1000 + n}`);
  await beta.hold('Mail000002');
  await delay(5);

  const expired = await retentionOf(alpha).sweep();

  t.is(expired, 1);
  t.is((await beta.store.hold.find('Mail000002'))?.state, 'expired');
  t.is((await beta.store.hold.find('Postfix1000'))?.state, 'held');
});

testWithPostgres('a node whose clock is a year ahead expires no mail of others early', async t => {
  const {alpha, beta} = await startTwo(t, 30 * dayMs);
  await beta.hold('Mail000002');

  const expired = await retentionOf(alpha, {now: () => Date.now() + 365 * dayMs}).sweep();

  t.is(expired, 0);
});

testWithPostgres('a removed node expires nothing', async t => {
  const {alpha, beta} = await startTwo(t, 1);
  await beta.hold('Mail000002');
  await delay(5);

  t.is(await retentionOf(alpha, {isSuspended: true}).sweep(), 0);
});

testWithPostgres('two nodes that sweep at once expire each mail once', async t => {
  const {alpha, beta} = await startTwo(t, 1);
  for (let n = 0; n < 20; n += 1) await beta.hold(`Mail0000${10 + n}`);
  await delay(5);

  const counts = await Promise.all([retentionOf(alpha).sweep(), retentionOf(beta).sweep()]);

  t.is(counts[0] + counts[1], 20);
  t.is((await beta.store.heldQuery.list({}, {kind: 'all'}, {limit: 1, offset: 0})).total, 0);
});

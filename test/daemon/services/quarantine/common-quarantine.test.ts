import {createPresences} from '../../../../daemon/services/cluster/presences.ts';
import {createCommonQuarantine} from '../../../../daemon/services/quarantine/common-quarantine.ts';
import type {HoldQueue} from '../../../../daemon/services/quarantine/stored-mail.ts';
import {Fault} from '../../../../shared/fault.ts';
import type {HoldAction} from '../../../../shared/held-mail.ts';
import {startHoldNode} from '../../../helpers/common-hold.ts';
import {newCluster} from '../../../helpers/common-store.ts';
import {operator} from '../../../helpers/hold-queue.ts';
import type {Teardown} from '../../../helpers/store.ts';
import {testWithPostgres, usePostgres} from '../../../helpers/test-with-postgres.ts';

const postgres = usePostgres();
const page = {limit: 100, offset: 0};

/** Alpha's quarantine. Beta has mail in the store and in its Postfix; gamma was removed and has left mail behind. */
const startThree = async (t: Teardown) => {
  const settings = await newCluster(postgres());
  const [alpha, beta, gamma] = await Promise.all(
    ['alpha', 'beta', 'gamma'].map(async (nodeId, n) => startHoldNode(t, settings, {nodeId, nodeNo: n + 1})),
  );
  if (!alpha || !beta || !gamma) throw new Error('three nodes');
  alpha.members = ['alpha', 'beta'];
  await alpha.hold('Mail000001');
  await beta.hold('Mail000002');
  await beta.holdInPostfix('Mail000003');
  await gamma.hold('Mail000004');
  const asked: string[] = [];
  const test = {alpha, beta, gamma, asked, away: [] as string[], isSilent: false};
  const peer: HoldQueue = {
    ...beta.queues.own,
    actsAtOnce: 2,
    async act(action: HoldAction, queueId: string, actor) {
      asked.push(`${action} ${queueId}`);
      if (test.isSilent) throw new Fault('node_unreachable', 'silent');
      return beta.queues.own.act(action, queueId, actor);
    },
  };
  const {postfixNodes, refresh} = createPresences({store: alpha.store, monotonic: () => performance.now()});
  await refresh();
  const quarantine = createCommonQuarantine({
    nodeId: 'alpha',
    heldQuery: alpha.store.heldQuery,
    find: alpha.queues.find,
    peerQueues: () => [peer],
    postfixNodes,
    isAway: nodeId => test.away.includes(nodeId),
    isSilent: nodeId => test.away.includes(nodeId),
    onUnexpected: error => {
      throw error;
    },
  });
  return Object.assign(test, {quarantine, refresh});
};

const codeOf = async (work: Promise<unknown>) =>
  work.then(
    () => 'done',
    error => (error instanceof Fault ? error.code : String(error)),
  );

testWithPostgres(
  'one list has the mail of all nodes, removed ones too, and no node has to answer for its mail in the store',
  async t => {
    const {quarantine, beta, away, refresh} = await startThree(t);
    await beta.store.transaction(async tx => tx.hold.forget('Mail000003'));
    await refresh();
    away.push('beta');

    const {result, unreachable} = await quarantine.list(operator, {}, page);
    const summary = await quarantine.summary(operator, {});

    t.deepEqual(result.mails.map(({node_id, queue_id}) => `${node_id}/${queue_id}`).sort(), [
      'alpha/Mail000001',
      'beta/Mail000002',
      'gamma/Mail000004',
    ]);
    t.is(result.total, 3);
    t.deepEqual(unreachable, []);
    t.is(summary.result.count, 3);
    t.deepEqual(
      summary.result.groups.map(({node_id, count}) => `${node_id} ${count}`),
      ['alpha 1', 'beta 1', 'gamma 1'],
    );
    t.is((await quarantine.list(operator, {node: 'gamma'}, page)).result.total, 1);
  },
);

testWithPostgres(
  'mail in the Postfix of a node that is away is listed and shown, its node is named, and nothing is done',
  async t => {
    const {quarantine, away, asked} = await startThree(t);
    const before = await quarantine.list(operator, {}, page);
    away.push('beta');

    const {result, unreachable} = await quarantine.list(operator, {}, page);
    const summary = await quarantine.summary(operator, {node: 'beta'});
    const elsewhere = await quarantine.list(operator, {node: 'alpha'}, page);
    const mail = {node_id: 'beta', queue_id: 'Mail000003'};

    t.deepEqual(before.unreachable, []);
    t.is(result.total, 4);
    t.deepEqual(unreachable, ['beta']);
    t.deepEqual(summary.unreachable, ['beta']);
    t.deepEqual(elsewhere.unreachable, []);
    t.like(await quarantine.get(operator, mail), {node_id: 'beta', subject: 'in Postfix'});
    t.is(await codeOf(quarantine.act(operator, 'discard', mail)), 'node_unreachable');
    t.is(await codeOf(quarantine.body(operator, mail)), 'node_unreachable');
    t.deepEqual(asked, []);
  },
);

testWithPostgres('an action on mail in another node’s Postfix is done by that node, every other one here', async t => {
  const {quarantine, alpha, beta, asked} = await startThree(t);

  const results = await quarantine.actOnAll(operator, 'discard', [
    {node_id: 'gamma', queue_id: 'Mail000004'},
    {node_id: 'nowhere', queue_id: 'Mail000004'},
    {node_id: 'beta', queue_id: 'Mail000003'},
    {node_id: 'beta', queue_id: 'Mail000002'},
    {node_id: 'beta', queue_id: 'Mail000099'},
  ]);

  t.deepEqual(
    results.map(result => `${result.node_id}/${result.queue_id} ${'error' in result ? result.error.code : result.state}`),
    [
      'gamma/Mail000004 discarded',
      'nowhere/Mail000004 unknown_node',
      'beta/Mail000003 discarded',
      'beta/Mail000002 discarded',
      'beta/Mail000099 not_found',
    ],
  );
  t.deepEqual(asked, ['discard Mail000003']);
  t.deepEqual(alpha.acted.map(({queue_id}) => queue_id).sort(), ['Mail000002', 'Mail000004']);
  t.deepEqual(
    beta.acted.map(({queue_id}) => queue_id),
    ['Mail000003'],
  );
});

testWithPostgres('a node that has fallen silent does not keep its mail in the store from being acted on', async t => {
  const test = await startThree(t);
  const {quarantine, beta} = test;
  test.isSilent = true;
  for (let n = 10; n < 20; n += 1) await beta.holdInPostfix(`Mail0000${n}`);
  const ids = ['Mail000003', ...Array.from({length: 10}, (_, n) => `Mail0000${10 + n}`), 'Mail000002'];

  const results = await quarantine.actOnAll(
    operator,
    'discard',
    ids.map(queue_id => ({node_id: 'beta', queue_id})),
  );

  t.deepEqual(
    results.map(result => ('error' in result ? result.error.code : result.state)),
    [...ids.slice(1).map(() => 'node_unreachable'), 'discarded'],
  );
  t.true(test.asked.length <= 2);
});

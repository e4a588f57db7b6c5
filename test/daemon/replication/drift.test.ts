import test, {type ExecutionContext} from 'ava';
import {createConfiguration} from '../../../daemon/replication/configuration.ts';
import {createDrift, createRecordDifferences} from '../../../daemon/replication/drift.ts';
import {createReplication} from '../../../daemon/replication/replication.ts';
import {createNodeDirectory} from '../../../daemon/services/cluster/membership.ts';
import type {Heartbeat} from '../../../daemon/services/cluster/peer-protocol.ts';
import {openPeerStates} from '../../../daemon/services/cluster/peer-states.ts';
import {createRefusals} from '../../../daemon/services/cluster/refusals.ts';
import type {RemoteRecords} from '../../../daemon/services/cluster/replication-ports.ts';
import {newFields} from '../../helpers/config-history.ts';
import {testStore} from '../../helpers/store.ts';

const nodeIds = ['alpha', 'beta'];

const arrangeNode = async (t: ExecutionContext, nodeNo: number) => {
  const {store} = await testStore(t, {isDurable: false});
  const time = {steady: 0};
  const configuration = createConfiguration({store, nodeNo, now: Date.now});
  const replication = createReplication({store, configuration, nodeNo});
  const directory = await createNodeDirectory(store, configuration);
  const monotonic = () => time.steady;
  const nodeId = nodeIds[nodeNo - 1] ?? '';
  const repaired: string[][] = [];
  const refusals = createRefusals(() => {});
  const drift = createDrift({
    store,
    configuration,
    replication,
    directory,
    refusals,
    differences: createRecordDifferences({replication, refusals}),
    nodeId,
    monotonic,
    peerStates: await openPeerStates({store, appliedOf: store.applied.of, directory, nodeNo, now: Date.now, monotonic}),
    afterMs: () => 60_000,
    now: Date.now,
    onRepair: ({differing}) => repaired.push(differing),
  });
  const heartbeat = async () => {
    const {config_hash} = await store.config.configHash();
    return {node_no: nodeNo, config_hash, applied: Object.fromEntries(await replication.applied())} as unknown as Heartbeat;
  };
  const remote: RemoteRecords = {
    nodeNo,
    nodeId,
    digestsPage: replication.digestsPage,
    records: async keys => replication.records(keys),
  };
  return {nodeNo, store, configuration, replication, drift, heartbeat, remote, time, repaired};
};

type Node = Awaited<ReturnType<typeof arrangeNode>>;

const tell = async (from: Node, to: Node) => {
  const after = (await to.replication.applied()).get(from.nodeNo) ?? 0;
  await to.replication.receive(from.remote, await from.replication.batchAfter(after, {limit: 1000, maxChars: 1e9}));
};

const arrange = async (t: ExecutionContext) => {
  const [alpha, beta] = [await arrangeNode(t, 1), await arrangeNode(t, 2)];
  await alpha.configuration.change(async tx => {
    for (const [n, node_id] of nodeIds.entries())
      await tx.create('node', n + 1, {node_id, fqdn: 'x.test', cluster_url: null, api_url: null, created_at: tx.at});
    const fields = {...newFields.domain('one.test'), backend_servers: ['127.0.0.1:25'], created_at: tx.at};
    await tx.create('domain', 1_000_000_001, fields);
    await tx.create('dkim_key', 1_000_000_001, {
      ...newFields.dkimKey(1_000_000_001, 's1'),
      algorithm: 'ed25519',
      created_at: tx.at,
    });
  });
  await tell(alpha, beta);
  return {alpha, beta};
};

/** Events that beta records as applied without applying them. */
const loseOnTheWay = async (alpha: Node, beta: Node, work: Parameters<Node['configuration']['change']>[0]) => {
  const before = (await beta.replication.applied()).get(1) ?? 0;
  await alpha.configuration.change(work);
  await beta.replication.caughtUp({1: before + 1});
};

const hashesOf = async (...nodes: Node[]) =>
  Promise.all(nodes.map(async ({store}) => (await store.config.configHash()).config_hash));

test('nodes that differ with nothing under way repair that after a minute, and not before', async t => {
  const {alpha, beta} = await arrange(t);
  await loseOnTheWay(alpha, beta, async tx => tx.update('domain', 1_000_000_001, {quarantine_threshold: 3}));

  await beta.drift.compare(await alpha.heartbeat());
  beta.time.steady = 59_999;
  await beta.drift.repair([alpha.remote]);
  const [one, other] = await hashesOf(alpha, beta);
  beta.time.steady = 60_000;
  await beta.drift.repair([alpha.remote]);

  t.not(one, other);
  t.is(new Set(await hashesOf(alpha, beta)).size, 1);
  t.deepEqual(beta.repaired, [['domain/1000000001']]);
  t.like(await beta.drift.explain([alpha.remote]), {
    records: [],
    nodes: [{node_id: 'alpha', differs_since: null, differing_records: 0}],
    repairs: [{node_id: 'alpha', records: 1}],
  });
});

test('a change that is on its way is no drift', async t => {
  const {alpha, beta} = await arrange(t);
  await alpha.configuration.change(async tx => tx.update('domain', 1_000_000_001, {quarantine_threshold: 3}));

  await beta.drift.compare(await alpha.heartbeat());
  beta.time.steady = 3_600_000;
  await beta.drift.repair([alpha.remote]);

  t.deepEqual(beta.repaired, []);
  t.like(await beta.drift.explain([alpha.remote]), {nodes: [{differs_since: null, differing_records: 1}]});
});

test('a drift that ends by itself is none any more', async t => {
  const {alpha, beta} = await arrange(t);
  await loseOnTheWay(alpha, beta, async tx => tx.update('domain', 1_000_000_001, {quarantine_threshold: 3}));
  await beta.drift.compare(await alpha.heartbeat());

  await beta.replication.merge(await alpha.replication.records([{kind: 'domain', id: 1_000_000_001}]), {
    node: alpha.remote,
    path: 'repair',
  });
  await beta.drift.compare(await alpha.heartbeat());
  beta.time.steady = 3_600_000;
  await beta.drift.repair([alpha.remote]);

  t.deepEqual(beta.repaired, []);
});

test('a deletion that was lost is taken over as well', async t => {
  const {alpha, beta} = await arrange(t);
  await loseOnTheWay(alpha, beta, async tx => tx.remove('domain', 1_000_000_001));
  await beta.drift.compare(await alpha.heartbeat());
  t.like(await beta.drift.explain([alpha.remote]), {
    records: [{kind: 'dkim_key'}, {kind: 'domain', here: 'live', there: 'deleted'}],
  });

  beta.time.steady = 60_000;
  await beta.drift.repair([alpha.remote]);

  t.is(new Set(await hashesOf(alpha, beta)).size, 1);
  t.deepEqual(await beta.store.config.listDomains(), []);
});

test('a node that has only miscounted finds that out by itself', async t => {
  const {alpha, beta} = await arrange(t);
  await beta.store.transaction(async tx => tx.state.write('config_sum', 'abc'));
  await beta.drift.compare(await alpha.heartbeat());

  beta.time.steady = 60_000;
  await beta.drift.repair([alpha.remote]);

  t.is(new Set(await hashesOf(alpha, beta)).size, 1);
  t.deepEqual(beta.repaired, []);
});

test('what differs while something is under way counts from when nothing is', async t => {
  const {alpha, beta} = await arrange(t);
  await loseOnTheWay(alpha, beta, async tx => tx.update('domain', 1_000_000_001, {quarantine_threshold: 3}));
  await beta.drift.compare(await alpha.heartbeat());
  const {applied, ...heartbeat} = await alpha.heartbeat();

  beta.time.steady = 59_000;
  await beta.drift.compare({...heartbeat, applied: {...applied, 1: (applied[1] ?? 0) + 1}});
  const busy = await beta.drift.explain([alpha.remote]);
  await beta.drift.compare(await alpha.heartbeat());
  beta.time.steady = 118_000;
  await beta.drift.repair([alpha.remote]);
  const [early] = [[...beta.repaired]];
  beta.time.steady = 119_000;
  await beta.drift.repair([alpha.remote]);

  t.like(busy, {nodes: [{differs_since: null}]});
  t.deepEqual(early, []);
  t.is(beta.repaired.length, 1);
});

test('a node with which nothing can be compared keeps no other from being compared, and is tried again later', async t => {
  const {alpha, beta} = await arrange(t);
  await loseOnTheWay(alpha, beta, async tx => tx.update('domain', 1_000_000_001, {quarantine_threshold: 3}));
  const heartbeat = await alpha.heartbeat();
  await beta.drift.compare({...heartbeat, node_no: 3});
  await beta.drift.compare(heartbeat);
  let asked = 0;
  const silent: RemoteRecords = {
    nodeNo: 3,
    nodeId: 'gamma',
    digestsPage: async () => {
      asked += 1;
      throw new Error('away');
    },
    records: async () => [],
  };

  beta.time.steady = 60_000;
  await t.throwsAsync(beta.drift.repair([silent, alpha.remote]), {message: 'away'});
  beta.time.steady = 119_999;
  await beta.drift.repair([silent, alpha.remote]);
  const askedSoon = asked;
  const {nodes} = await beta.drift.explain([silent]);
  asked = 0;
  beta.time.steady = 120_000;
  await t.throwsAsync(beta.drift.repair([silent, alpha.remote]));

  t.deepEqual(beta.repaired, [['domain/1000000001']]);
  t.is(askedSoon, 1);
  t.is(asked, 1);
  t.not(nodes[0]?.differs_since, null);
});

test('the explanation names records and fields, and no secret', async t => {
  const {alpha, beta} = await arrange(t);
  await loseOnTheWay(alpha, beta, async tx => {
    await tx.update('domain', 1_000_000_001, {quarantine_threshold: 3});
    await tx.update('dkim_key', 1_000_000_001, {private_key_pem: 'PRIVATE-NEW'});
  });

  const {records} = await beta.drift.explain([alpha.remote]);

  t.deepEqual(
    records.map(({node_id, kind, name, fields}) => ({node_id, kind, name, fields})),
    [
      {node_id: 'alpha', kind: 'dkim_key', name: 's1', fields: [{name: 'private_key_pem', here: '(secret)', there: '(another)'}]},
      {node_id: 'alpha', kind: 'domain', name: 'one.test', fields: [{name: 'quarantine_threshold', here: 6, there: 3}]},
    ],
  );
  t.false(JSON.stringify(records).includes('PRIVATE'));
});

test('a node that does not answer is said to be uncompared', async t => {
  const {alpha, beta} = await arrange(t);
  const silent: RemoteRecords = {...alpha.remote, digestsPage: async () => Promise.reject(new Error('away'))};

  t.like(await beta.drift.explain([silent]), {nodes: [{node_id: 'alpha', differing_records: null}], records: []});
});

test('configurations are compared once for all who ask at the same time, and again for those who ask later', async t => {
  const {alpha, beta} = await arrange(t);
  let compared = 0;
  const counting: RemoteRecords = {
    ...alpha.remote,
    async digestsPage(after) {
      compared += 1;
      return alpha.remote.digestsPage(after);
    },
  };
  const explain = async () => beta.drift.explain([counting]);

  const together = await Promise.all([explain(), explain(), explain()]);
  await beta.configuration.change(async tx => tx.update('domain', 1_000_000_001, {quarantine_threshold: 3}));
  const comparedTogether = compared;
  const later = await explain();

  t.deepEqual(together, Array(3).fill(together[0]));
  t.deepEqual([comparedTogether, compared], [1, 2]);
  t.deepEqual([together[0]?.records.length, later.records.length], [0, 1]);
});

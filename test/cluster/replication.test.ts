// Replication of changes from one node to all others, and what each node reports about the others.
import {join} from 'node:path';
import test, {type ExecutionContext} from 'ava';
import {startCluster} from '../helpers/cluster.ts';
import {eventually} from '../helpers/eventually.ts';
import {forFile} from '../helpers/for-file.ts';
import {mfdFile, run} from '../helpers/program.ts';
import {openTestStore, testConfiguration} from '../helpers/store.ts';

const cluster = forFile(async owner => startCluster(owner, {config: {cluster: {drift_after: 1}}}));
const nodes = () => Object.values(cluster().nodes);

const named = (name: string) => {
  const node = nodes().find(({node_id}) => node_id === name);
  if (!node) throw new Error(`no node ${name}`);
  return node;
};

const metricsOf = async (name: string): Promise<string> => (await fetch(`${named(name).metrics_url}/metrics`)).text();

const everywhere = async (t: ExecutionContext, check: (name: string) => Promise<unknown>): Promise<void> => {
  for (const {node_id} of nodes()) t.truthy(await eventually(async () => check(node_id)), node_id);
};

test.serial(
  'a domain with its filter and DKIM key, made on one node, is on all, and so is every change until its end',
  async t => {
    const {id} = await named('alpha').createDomain({name: 'travels.test'});
    await cluster().converged();
    await named('beta').api('POST', `domains/${id}/filters`, {
      body: {action: 'block', match: 'sender_domain', pattern: 'bad.test'},
    });
    await named('gamma').api('POST', `domains/${id}/dkim-keys`, {body: {selector: 's1', algorithm: 'ed25519'}});
    await named('gamma').updateDomain(id, {quarantine_threshold: 4.5});
    await cluster().converged();

    const seen = await Promise.all(
      nodes().map(async node => [
        (await node.api('GET', `domains/${id}`)).headers.etag,
        (await node.api('GET', `domains/${id}`)).json.data,
        (await node.api('GET', `domains/${id}/filters`)).json.data,
        (await node.api('GET', `domains/${id}/dkim-keys`)).json.data,
      ]),
    );
    await named('beta').api('DELETE', `domains/${id}`);
    await cluster().converged();

    t.is(new Set(seen.map(one => JSON.stringify(one))).size, 1);
    t.like(seen[0]?.[1], {quarantine_threshold: 4.5});
    t.is(seen[0]?.[2].length, 1);
    t.is(seen[0]?.[3].length, 1);
    for (const node of nodes()) t.is(await node.domain(id), undefined);
  },
);

test.serial('a key made on one node is good on all, and is refused on all once its revocation has been answered', async t => {
  const key = await named('beta').createKey('read-only');
  await everywhere(t, async name => (await named(name).api('GET', 'auth/me', {key: key.key})).status === 200);

  const revoked = await named('gamma').api('POST', `auth/api-keys/${key.id}/revoke`);
  const statuses = await Promise.all(nodes().map(async node => (await node.api('GET', 'auth/me', {key: key.key})).status));

  t.is(revoked.status, 200);
  t.is(revoked.headers['x-unreachable-nodes'], undefined);
  t.deepEqual(statuses, [401, 401, 401]);
});

test.serial('the end that a key was given is known on all nodes once that has been answered', async t => {
  const {id} = await named('beta').createKey('read-only');
  await cluster().converged();
  const at = '2099-01-01T00:00:00.000Z';

  await named('gamma').api('POST', `auth/api-keys/${id}/revoke`, {body: {at}});
  const lists = await Promise.all(nodes().map(async node => (await node.api('GET', 'auth/api-keys')).json.data));

  for (const list of lists) t.is(list.find((key: {id: number}) => key.id === id)?.expires_at, at);
});

test.serial('a deleted key is unknown on all nodes once that has been answered', async t => {
  const key = await named('beta').createKey('read-only');
  await cluster().converged();

  await named('alpha').api('DELETE', `auth/api-keys/${key.id}`);

  for (const node of nodes()) t.is((await node.api('GET', 'auth/me', {key: key.key})).json.error.code, 'key_invalid');
});

test.serial('a use on one node is told by the others, and a limit holds over all of them', async t => {
  const key = await named('alpha').createKey('read-only', {rate_limit_per_minute: 30});
  await cluster().converged();
  for (let n = 0; n < 30; n += 1) t.is((await named('beta').api('GET', 'auth/me', {key: key.key})).status, 200);

  await everywhere(t, async name => (await named(name).api('GET', 'auth/me', {key: key.key})).status === 429);
  const used = async (name: string) => {
    const {json} = await named(name).api('GET', 'auth/api-keys');
    return json.data.find(({id}: {id: number}) => id === key.id).last_used_at;
  };
  await everywhere(t, used);
});

test.serial('every node tells the same of all, in status and metrics', async t => {
  await cluster().converged();

  for (const {node_id} of nodes()) {
    const {local_node_id, peers} = await named(node_id).status();
    t.is(local_node_id, node_id);
    t.deepEqual(
      peers.map(peer => [peer.node_id, peer.healthy, peer.outbox_backlog_to_us, peer.license.valid, peer.api_url]),
      nodes().map(node => [node.node_id, 'online', 0, true, node.api_url]),
    );
    const metrics = await metricsOf(node_id);
    for (const node of nodes()) t.true(metrics.includes(`mfd_cluster_node_health{node="${node.node_id}",health="online"} 1`));
    t.true(metrics.includes('mfd_cluster_nodes{health="online"} 3'));
    t.true(metrics.includes('mfd_cluster_config_drift 0'));
    t.is(metrics.match(/^mfd_cluster_clock_skew_seconds/gm)?.length, 2);
  }
});

test.serial('a key made beside the running node, by its operator, is good on the others too', async t => {
  const {stdout} = await run(mfdFile, ['bootstrap-key', '--data', named('beta').data, '--force']);

  await everywhere(t, async name => (await named(name).api('GET', 'auth/me', {key: stdout.trim()})).status === 200);
});

test.serial('what a disk or a hand has changed on one node is noticed, explained and repaired', async t => {
  const gamma = named('gamma');
  const {id} = await gamma.createDomain({name: 'drifts.test', quarantine_threshold: 5});
  await cluster().converged();
  await gamma.stop();
  const store = await openTestStore(join(gamma.data, 'mfd.db'));
  const row = await store.read('config_record').where({kind: 'domain', id}).first();
  const fields = {...JSON.parse(row.fields), quarantine_threshold: [1, '000000000001.0000.0003']};
  await store
    .write('config_record')
    .where({kind: 'domain', id})
    .update({fields: JSON.stringify(fields)});
  await testConfiguration(store, {nodeNo: 3}).rebuild();
  await store.close();

  await gamma.start();
  const before = (await gamma.domain(id))?.quarantine_threshold;
  await eventually(async () => gamma.log().includes('configuration drift repaired'));
  const hash = await cluster().converged();

  t.is(before, 1);
  t.is((await gamma.domain(id))?.quarantine_threshold, 5);
  const {status, json} = await gamma.api('GET', 'cluster/drift');
  t.is(status, 200);
  t.is(json.data.config_hash, hash);
  t.deepEqual(json.data.records, []);
  t.like(json.data.repairs[0], {records: 1});
  const shown = await gamma.mfctl(['cluster', 'drift']);
  t.is(shown.code, 0, shown.stderr);
});

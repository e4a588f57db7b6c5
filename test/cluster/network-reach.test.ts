// Nodes on hosts of their own, some of which cannot reach others.
import {type ClusterNode, startCluster} from '../helpers/cluster.ts';
import {eventually} from '../helpers/eventually.ts';
import {attemptJoin, makeToken} from '../helpers/join-attempt.ts';
import {networkMissing, startNetwork} from '../helpers/network.ts';
import {testWith} from '../helpers/test-with.ts';

const onNetwork = testWith('network', networkMissing);

const names = ['mx1', 'mx2', 'mx3'] as const;
const portOf = ({cluster_url}: ClusterNode) => Number(new URL(cluster_url).port);

/** A node that was just cut off may still count as reachable, so the check waits some seconds. */
const checkedAs = async (node: ClusterNode, code: number, text: string) => {
  let said = '';
  await eventually(async () => {
    const checked = await node.mfctl(['cluster', 'check']);
    said = `${checked.code} ${checked.stdout}`;
    return checked.code === code && checked.stdout.includes(text);
  }, 30_000).catch(error => {
    throw new Error(`not ${code} ${text}: ${said}`, {cause: error});
  });
};

/** Each node's list of nodes that get no answer from `node`. */
const toldOf = async (all: ClusterNode[], node: string) =>
  Promise.all(all.map(async one => (await one.status()).peers.find(({node_id}) => node_id === node)?.unreachable_from));

onNetwork('where one node cannot reach another, its changes come all the same, and every node says so', async t => {
  const network = await startNetwork(t, names);
  const {nodes} = await startCluster(t, {nodes: names, network, isProxied: false});
  const {mx1, mx2, mx3} = nodes;
  const {key, id} = await mx1.createKey('read-only');
  await eventually(async () => (await mx3.api('GET', 'auth/me', {key})).status === 200);

  await network.lose({from: 'mx1', to: 'mx3', port: portOf(mx3)});
  const domain = await mx1.createDomain({name: 'one-way.test'});
  t.is((await mx1.api('POST', `auth/api-keys/${id}/revoke`)).status, 200);

  await eventually(async () => (await mx3.api('GET', 'auth/me', {key})).status === 401, 30_000);
  await eventually(async () => (await mx3.domain(domain.id)) !== undefined, 30_000);
  await eventually(async () => (await toldOf([mx1, mx2, mx3], 'mx3')).every(from => from?.join() === 'mx1'), 30_000);
  for (const node of [mx1, mx2, mx3]) await checkedAs(node, 1, 'WARNING: mx3 cannot be reached from mx1');
  t.regex((await mx2.mfctl(['cluster', 'status'])).stdout, /mx3 .*online, not reached from mx1/);

  await network.heal();
  await eventually(async () => (await toldOf([mx1, mx2, mx3], 'mx3')).every(from => from?.length === 0), 30_000);
  await checkedAs(mx2, 0, 'OK: 3 nodes, all online');
});

onNetwork('two nodes that have no link have what the other changes from a third one', async t => {
  const network = await startNetwork(t, names);
  const {nodes, converged} = await startCluster(t, {nodes: names, network, isProxied: false});
  const {mx1, mx3} = nodes;

  await network.cut('mx1', 'mx3');
  const [here, there] = [await mx1.createDomain({name: 'here.test'}), await mx3.createDomain({name: 'there.test'})];
  await eventually(async () => (await mx3.domain(here.id)) !== undefined, 40_000);
  await eventually(async () => (await mx1.domain(there.id)) !== undefined, 40_000);
  await eventually(async () => (await toldOf([mx3], 'mx1'))[0]?.join() === 'mx3', 30_000);

  await network.heal();
  await converged(60_000);
  await mx1.updateDomain(here.id, {quarantine_threshold: 3});
  t.truthy(await eventually(async () => (await mx3.domain(here.id))?.quarantine_threshold === 3, 30_000));
});

onNetwork('a node that nobody can reach is never well, and goes on with what it fetches itself', async t => {
  const network = await startNetwork(t, names);
  const {nodes} = await startCluster(t, {nodes: names, network, isProxied: false});
  const {mx1, mx3} = nodes;

  await network.lose({from: 'mx1', to: 'mx3', port: portOf(mx3)}, {from: 'mx2', to: 'mx3', port: portOf(mx3)});
  const domain = await mx1.createDomain({name: 'closed.test'});

  await eventually(async () => (await mx3.domain(domain.id)) !== undefined, 40_000);
  await eventually(async () => (await toldOf([mx1, mx3], 'mx3')).every(from => from?.join() === 'mx1,mx2'), 30_000);
  for (const node of [mx1, mx3]) await checkedAs(node, 2, 'CRITICAL: no node can reach mx3 ');
  t.pass();
});

onNetwork('a node whose port for nodes is closed is told so when it joins', async t => {
  const network = await startNetwork(t, ['mx1', 'mx2']);
  const {nodes} = await startCluster(t, {nodes: ['mx1'], network, isProxied: false});
  await network.lose({from: 'mx1', to: 'mx2', port: 8444});
  const host = network.hosts.mx2;
  const args = ['--fqdn', host.address, '--cluster-listen', '0.0.0.0:8444'];

  const {code, stderr} = await attemptJoin(t, await makeToken(nodes.mx1), {nodeId: 'mx2', host, args});

  t.is(code, 0);
  t.true(stderr.startsWith(`warning: node mx1 cannot reach this one at ${host.address}:8444: no answer within 3 s. `), stderr);
});

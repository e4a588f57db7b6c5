// Nodes that cannot catch up from the outboxes of the others: away too long, or restored from a backup.
import {cp, rm} from 'node:fs/promises';
import test, {type ExecutionContext} from 'ava';
import type {ClusterNode} from '../helpers/cluster.ts';
import {eventually} from '../helpers/eventually.ts';
import {useCluster} from '../helpers/use-cluster.ts';

const outboxLimit = 20;
const arrange = useCluster({config: {cluster: {outbox_limit: outboxLimit}}});

const eventsKept = async ({metrics_url}: ClusterNode): Promise<number> =>
  Number(/^mfd_outbox_events (\d+)/m.exec(await (await fetch(`${metrics_url}/metrics`)).text())?.[1]);

const createDomains = async (node: ClusterNode, count: number): Promise<number[]> => {
  const ids: number[] = [];
  for (let n = 0; n < count; n += 1) ids.push((await node.createDomain()).id);
  return ids;
};

const backUp = async (t: ExecutionContext, {data}: ClusterNode) => {
  const copy = `${data}.backup`;
  await cp(data, copy, {recursive: true, preserveTimestamps: true});
  t.teardown(async () => rm(copy, {recursive: true, force: true}));
  return async () => {
    await rm(data, {recursive: true});
    await cp(copy, data, {recursive: true, preserveTimestamps: true});
  };
};

test.serial('a node that was away for longer than the outbox reaches fetches everything', async t => {
  const {alpha, beta, gamma, converged} = await arrange(t);
  const [gone, changed] = await Promise.all([alpha.createDomain(), alpha.createDomain()]);
  await converged();

  await gamma.stop();
  const made = await createDomains(alpha, 3 * outboxLimit);
  await alpha.api('DELETE', `domains/${gone.id}`);
  await beta.updateDomain(changed.id, {quarantine_threshold: 1});
  await eventually(async () => (await eventsKept(alpha)) <= outboxLimit);
  await gamma.start();
  await converged();

  t.true(gamma.log().includes('configuration fetched from another node'));
  t.is(await gamma.domain(gone.id), undefined);
  t.like(await gamma.domain(changed.id), {quarantine_threshold: 1});
  for (const id of made) t.like(await gamma.domain(id), {id});
});

test.serial('a node restored from an old backup gets back what it made since, and gives no id twice', async t => {
  const {alpha, gamma, all, converged} = await arrange(t);
  const [kept, deleted] = await createDomains(gamma, 2);
  await gamma.stop();
  const restore = await backUp(t, gamma);
  await gamma.start();
  const since = await createDomains(gamma, 5);
  await gamma.updateDomain(kept as number, {quarantine_threshold: 1});
  await gamma.api('DELETE', `domains/${deleted}`);
  const {id: keyId, key} = await gamma.createKey('read-only');
  const elsewhere = await createDomains(alpha, 5);
  await converged();

  await gamma.stop();
  await restore();
  await gamma.start();
  await converged();

  for (const id of [...since, ...elsewhere]) t.like(await gamma.domain(id), {id});
  t.like(await gamma.domain(kept as number), {quarantine_threshold: 1});
  t.is(await gamma.domain(deleted as number), undefined);
  t.like((await gamma.api('GET', 'auth/me', {key})).json.data, {id: keyId});
  const fresh = await createDomains(gamma, 3);
  const {id: freshKeyId} = await gamma.createKey('read-only');
  await gamma.updateDomain(since[0] as number, {tenant_id: 'after'});
  await converged();
  t.deepEqual(
    fresh.filter(id => [kept, deleted, ...since].includes(id)),
    [],
  );
  t.not(freshKeyId, keyId);
  for (const node of all) {
    for (const id of fresh) t.like(await node.domain(id), {id}, node.node_id);
    t.like(await node.domain(since[0] as number), {tenant_id: 'after'}, node.node_id);
  }
});

test.serial('a node that starts from an old backup while nobody can be reached gives no id twice either', async t => {
  const {alpha, gamma, all, isolate, heal, converged} = await arrange(t);
  await gamma.stop();
  const restore = await backUp(t, gamma);
  await gamma.start();
  const since = await createDomains(gamma, 5);
  await converged();

  await gamma.stop();
  await restore();
  isolate('gamma');
  await gamma.start();
  const fresh = await createDomains(gamma, 5);
  await alpha.updateDomain(since[0] as number, {tenant_id: 'meanwhile'});
  heal();
  await converged();

  t.deepEqual(
    fresh.filter(id => since.includes(id)),
    [],
  );
  for (const node of all) {
    for (const id of [...since, ...fresh]) t.like(await node.domain(id), {id}, node.node_id);
    t.like(await node.domain(since[0] as number), {tenant_id: 'meanwhile'}, node.node_id);
  }
});

test.serial('a node replaced from empty under its old name has everything, and gives ids of its own', async t => {
  const {alpha, beta, gamma, addNode, converged} = await arrange(t);
  const before = await createDomains(gamma, 3);
  await converged();

  await gamma.stop();
  t.is((await alpha.api('DELETE', 'cluster/nodes/gamma')).status, 200);
  const fresh = await addNode('gamma');
  await converged();
  const made = await Promise.all(['one', 'two', 'three'].map(async name => fresh.createDomain({name: `${name}.fresh.test`})));
  const since = made.map(({id}) => id);
  await converged();

  t.deepEqual(
    since.filter(id => before.includes(id)),
    [],
  );
  for (const node of [alpha, beta, fresh]) {
    for (const id of [...before, ...since]) t.like(await node.domain(id), {id}, node.node_id);
    t.deepEqual((await node.status()).peers.map(({node_id}) => node_id).sort(), ['alpha', 'beta', 'gamma'], node.node_id);
  }
});

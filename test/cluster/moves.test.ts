import test from 'ava';
import {startCluster} from '../helpers/cluster.ts';
import {eventually} from '../helpers/eventually.ts';
import {addToConfig} from '../helpers/node.ts';
import {freePort} from '../helpers/ports.ts';

test('two nodes that moved while both were away find each other by way of a third', async t => {
  const {nodes, converged} = await startCluster(t, {isProxied: false});
  const {alpha, beta, gamma} = nodes;
  await converged();
  await Promise.all([beta.stop(), gamma.stop()]);
  for (const {data} of [beta, gamma]) {
    await addToConfig(data, {cluster: {listen: `127.0.0.1:${await freePort()}`}});
  }

  await Promise.all([beta.start(), gamma.start()]);
  const {id} = await beta.createDomain();

  await eventually(async () => gamma.domain(id));
  await converged();
  t.truthy(await alpha.domain(id));
});

test('a key that is revoked once more is waited for like the first time', async t => {
  const {nodes, partition, heal, converged} = await startCluster(t);
  const {alpha, beta, gamma} = nodes;
  const key = await alpha.createKey('read-only');
  await converged();
  partition(['alpha'], ['beta']);

  const first = await alpha.api('POST', `auth/api-keys/${key.id}/revoke`);
  await eventually(async () => (await gamma.api('GET', 'auth/me', {key: key.key})).status === 401);
  const atBeta = (await beta.api('GET', 'auth/me', {key: key.key})).status;
  const again = await gamma.api('POST', `auth/api-keys/${key.id}/revoke`);

  t.is(first.headers['x-unreachable-nodes'], 'beta');
  t.is(atBeta, 200);
  t.is(again.headers['x-unreachable-nodes'], undefined);
  t.is((await beta.api('GET', 'auth/me', {key: key.key})).status, 401);
  t.is(again.json.data.revoked_at, first.json.data.revoked_at);
  heal();
  await converged();
});

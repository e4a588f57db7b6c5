// Connections without a certificate on the ports of the peers.
import test from 'ava';
import {startCluster} from '../helpers/cluster.ts';
import {eventually} from '../helpers/eventually.ts';
import {openStrangers} from '../helpers/strangers.ts';

test('2,000 connections without a certificate on each node part no nodes, and keep no new one out', async t => {
  const {nodes, addNode, converged} = await startCluster(t, {nodes: ['alpha', 'beta'], isProxied: false});
  const {alpha, beta} = nodes;
  const floods = [alpha, beta].map(async ({cluster_url}) => openStrangers(t, Number(new URL(cluster_url).port), {count: 2000}));
  const strangers = await Promise.all(floods);

  const {id} = await alpha.createDomain();
  const gamma = await addNode('gamma');
  await eventually(async () => (await beta.domain(id)) && (await gamma.domain(id)));

  t.true(strangers.every(({open}) => open() <= 500));
  await t.notThrowsAsync(converged());
});

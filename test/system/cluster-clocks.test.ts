// Clocks that are ten minutes apart: nobody is thought to be away, and a later write wins whatever its clock says.
import {existsSync} from 'node:fs';
import {readdir} from 'node:fs/promises';
import {join} from 'node:path';
import test from 'ava';
import {type ClusterNode, startCluster} from '../helpers/cluster.ts';
import {eventually} from '../helpers/eventually.ts';

const libraries = '/usr/lib';
const findLibrary = async (): Promise<string | undefined> => {
  const folders = await readdir(libraries).catch(() => []);
  return folders.map(name => join(libraries, name, 'faketime', 'libfaketime.so.1')).find(file => existsSync(file));
};
const library = await findLibrary();

const skewOf = async ({metrics_url}: ClusterNode, node: string): Promise<number> => {
  const text = await (await fetch(`${metrics_url}/metrics`)).text();
  return Number(new RegExp(`^mfd_cluster_clock_skew_seconds\\{node="${node}"\\} (\\S+)`, 'm').exec(text)?.[1]);
};

(library === undefined ? test.skip : test)(
  'with clocks ten minutes apart all nodes are online and a later write wins (needs faketime)',
  async t => {
    const fast = {LD_PRELOAD: library ?? '', FAKETIME: '+600s'};
    const cluster = await startCluster(t, {env: {gamma: fast}});
    const {alpha, beta, gamma} = cluster.nodes;
    const all = [alpha, beta, gamma];
    await cluster.converged();
    const ahead = await eventually(async () => (await skewOf(alpha, 'gamma')) > 500 && skewOf(alpha, 'gamma'));
    t.log(`gamma is ${ahead} s ahead`);

    const {id} = await gamma.createDomain({quarantine_threshold: 4});
    await cluster.converged();
    await alpha.updateDomain(id, {quarantine_threshold: 3});
    await cluster.converged();
    for (const node of all) t.like(await node.domain(id), {quarantine_threshold: 3}, node.node_id);

    cluster.partition(['alpha', 'beta'], ['gamma']);
    await gamma.updateDomain(id, {reject_threshold: 30});
    await beta.updateDomain(id, {tenant_id: 'town'});
    cluster.heal();
    await cluster.converged();
    for (const node of all) t.like(await node.domain(id), {reject_threshold: 30, tenant_id: 'town'}, node.node_id);

    t.is((await beta.api('DELETE', `domains/${id}`)).status, 200);
    await cluster.converged();
    for (const node of all) {
      t.is(await node.domain(id), undefined, node.node_id);
      for (const peer of (await node.status()).peers) t.is(peer.healthy, 'online', `${node.node_id} of ${peer.node_id}`);
    }
  },
);

// Nodes that die and connections that lose data while changes are replicated.
import test from 'ava';
import type {ClusterNode} from '../helpers/cluster.ts';
import {eventually} from '../helpers/eventually.ts';
import {useCluster} from '../helpers/use-cluster.ts';

const arrange = useCluster();

const backlogOf = async (node: ClusterNode, of: ClusterNode): Promise<number> =>
  (await node.status()).peers.find(({node_id}) => node_id === of.node_id)?.outbox_backlog_to_us ?? 0;

/** Makes `count` changes of one domain one after the other; resolves with the last value. */
const changeOften = async (node: ClusterNode, id: number, count: number): Promise<string> => {
  let tenant_id = '';
  for (let n = 1; n <= count; n += 1) {
    tenant_id = `${node.node_id} ${n}`;
    await node.updateDomain(id, {tenant_id});
  }
  return tenant_id;
};

test.serial('connections that are reset again and again delay changes and lose none', async t => {
  const {alpha, beta, gamma, line, converged} = await arrange(t);
  const {id} = await alpha.createDomain();
  let isOver = false;

  const resets = (async () => {
    for (; !isOver; await new Promise(resolve => setTimeout(resolve, 30)))
      for (const [from, to] of [
        ['alpha', 'beta'],
        ['beta', 'gamma'],
        ['gamma', 'alpha'],
      ] as const)
        line(from, to).reset();
  })();
  const last = await changeOften(alpha, id, 200);
  const made = [];
  for (let n = 0; n < 50; n += 1) made.push((await gamma.createDomain()).id);
  isOver = true;
  await resets;
  await converged();

  t.is((await beta.domain(id))?.tenant_id, last);
  for (const one of made) t.like(await alpha.domain(one), {id: one});
});

test.serial('a node that is killed, and killed again while it catches up, has everything in the end', async t => {
  const {alpha, beta, gamma, line, heal, converged} = await arrange(t);
  const [forAlpha, forBeta] = [await alpha.createDomain(), await beta.createDomain()];
  await converged();
  const behind = async () => (await backlogOf(gamma, alpha)) + (await backlogOf(gamma, beta));

  await gamma.stop('SIGKILL');
  const last = await Promise.all([changeMuch(alpha, forAlpha.id, 150), changeMuch(beta, forBeta.id, 150)]);
  for (const from of ['alpha', 'beta']) line(from, 'gamma').throttle(150_000);
  for (let round = 1; round <= 3; round += 1) {
    await gamma.start();
    const before = await eventually(async () => (await behind()) || undefined);
    // The first kill happens before any event has arrived, each later one after another batch.
    const left = round === 1 ? before : await eventually(async () => isBetween(await behind(), 0, before));
    t.log(`killed with ${left} of 300 events to come`);
    await gamma.stop('SIGKILL');
  }
  await gamma.start();
  heal();
  await converged();

  t.deepEqual((await gamma.domain(forAlpha.id))?.backend_servers, last[0]);
  t.deepEqual((await gamma.domain(forBeta.id))?.backend_servers, last[1]);
});

const isBetween = (value: number, least: number, most: number): number | undefined =>
  value > least && value < most ? value : undefined;

/** Makes `count` changes of about 6 KB each; resolves with the last value. */
const changeMuch = async (node: ClusterNode, id: number, count: number): Promise<string[]> => {
  let backend_servers: string[] = [];
  for (let n = 1; n <= count; n += 1) {
    backend_servers = Array.from({length: 32}, (_, i) => `mx${n}-${i}${`.${'long'.repeat(15)}`.repeat(3)}.test:25`);
    await node.updateDomain(id, {backend_servers});
  }
  return backend_servers;
};

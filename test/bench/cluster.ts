// What a cluster costs, on real nodes over loopback: npm run bench:cluster -- visibility | partition | scale [nodes]
import {readFile} from 'node:fs/promises';
import {setTimeout as delay} from 'node:timers/promises';
import {type Cluster, type ClusterNode, startCluster} from '../helpers/cluster.ts';
import {quantilesOf, shown} from './quantiles.ts';

const teardowns: (() => unknown)[] = [];
const owner = {teardown: (end: () => unknown) => void teardowns.push(end)};
const out = (line: string) => process.stdout.write(`${line}\n`);
const quiet = {log: {level: 'warn'}};

const names = ['alpha', 'beta', 'gamma', 'delta', 'epsilon', 'zeta', 'eta', 'theta', 'iota'];

const timed = async (work: () => Promise<unknown>): Promise<number> => {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
};

/** The first key's limit is for people, not for asking without a pause. */
let key = '';
const makeKey = async (cluster: Cluster<string>): Promise<void> => {
  const [first] = Object.values(cluster.nodes) as [ClusterNode];
  key = (await first.createKey('full-admin', {rate_limit_per_minute: 1_000_000})).key;
  await cluster.converged();
};

const put = async (node: ClusterNode, id: number, changes: object): Promise<void> => {
  const {status} = await node.api('PUT', `domains/${id}`, {body: changes, key});
  if (status !== 200) throw new Error(`PUT: ${status}`);
};

const list = async (node: ClusterNode, query: string): Promise<void> => {
  const {status, json} = await node.api('GET', `mail/quarantine?${query}`, {key});
  if (status !== 200 || json.message !== 'OK') throw new Error(`list: ${status} ${json?.message}`);
};

const seesThreshold = async (node: ClusterNode, id: number, value: number): Promise<void> => {
  while ((await node.api('GET', `domains/${id}`, {key})).json.data?.quarantine_threshold !== value) await delay(1);
};

/** From sending a PUT to one node until every other one shows it, asked every other millisecond: without a pause the asking would be all that is measured. */
const measureVisibility = async (cluster: Cluster<string>, rounds: number): Promise<void> => {
  const [first, ...others] = Object.values(cluster.nodes) as [ClusterNode, ...ClusterNode[]];
  const {id} = await first.createDomain();
  await cluster.converged();
  const visible: number[] = [];
  const answered: number[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    const value = (round % 50) / 10;
    const startedAt = performance.now();
    const own = put(first, id, {quarantine_threshold: value}).then(() => answered.push(performance.now() - startedAt));
    await Promise.all([own, ...others.map(async node => seesThreshold(node, id, value))]);
    visible.push(performance.now() - startedAt);
  }
  out(`PUT until answered:                    ${shown(quantilesOf(answered))}`);
  out(`PUT until visible on ${others.length} other nodes:    ${shown(quantilesOf(visible))}   (${rounds} rounds)`);
};

/** Changes on both sides of a partition, and how long after it all nodes are alike. */
const measurePartition = async (cluster: Cluster<string>, seconds: number, changes: number): Promise<void> => {
  const [alpha, beta] = Object.values(cluster.nodes) as [ClusterNode, ClusterNode];
  const made: number[] = [];
  for (let n = 0; n < 100; n += 1) made.push((await alpha.createDomain()).id);
  await cluster.converged();
  cluster.isolate(alpha.node_id);
  const until = performance.now() + seconds * 1000;
  const side = async (node: ClusterNode, field: string) => {
    for (let n = 0; n < changes; n += 1)
      await put(node, made[n % made.length] ?? 0, {[field]: field === 'reject_threshold' ? 20 + (n % 40) : (n % 40) / 10});
  };
  await Promise.all([side(alpha, 'quarantine_threshold'), side(beta, 'reject_threshold')]);
  await delay(Math.max(0, until - performance.now()));
  cluster.heal();
  const ownHash = async (node: ClusterNode) =>
    (await node.status()).peers.find(({node_id}) => node_id === node.node_id)?.config_hash;
  const areAlike = async () => new Set(await Promise.all(Object.values(cluster.nodes).map(ownHash))).size === 1;
  const took = await timed(async () => {
    while (!(await areAlike())) await delay(20);
  });
  out(`${seconds} s partition, ${changes} changes on each side: all nodes alike ${Math.round(took)} ms after healing`);
};

/** CPU time of a process so far, in milliseconds; USER_HZ is 100. */
const cpuMs = async (pid: number): Promise<number> => {
  const fields = (await readFile(`/proc/${pid}/stat`, 'utf8')).split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) * 10;
};

const measureScale = async (cluster: Cluster<string>, domains: number): Promise<void> => {
  const nodes = Object.values(cluster.nodes);
  const [first] = nodes as [ClusterNode];
  const before = await Promise.all(nodes.map(async ({pid}) => cpuMs(pid())));
  await delay(20_000);
  const after = await Promise.all(nodes.map(async ({pid}) => cpuMs(pid())));
  const idle = quantilesOf(after.map((ms, n) => (ms - (before[n] ?? 0)) / 20));
  out(`idle, heartbeats every second: ${idle.p50.toFixed(1)} ms CPU a second and node (most: ${idle.worst.toFixed(1)})`);
  await measureVisibility(cluster, 100);
  const times: number[] = [];
  for (let round = 0; round < 200; round += 1) times.push(await timed(async () => list(first, 'limit=100')));
  out(`list of 100 over ${nodes.length} nodes:            ${shown(quantilesOf(times))}`);
  if (domains === 0) return;
  const creating = await timed(async () => {
    let left = domains;
    const worker = async () => {
      while (left > 0) {
        left -= 1;
        const body = {name: `d${left}.example`, backend_servers: [first.backend]};
        const {status} = await first.api('POST', 'domains', {body, key});
        if (status !== 201) throw new Error(`POST: ${status}`);
      }
    };
    await Promise.all(Array.from({length: 8}, worker));
  });
  const settling = await timed(async () => cluster.converged(300_000));
  out(`${domains} domains made on one node in ${Math.round(creating)} ms, alike everywhere ${Math.round(settling)} ms later`);
  await measureVisibility(cluster, 100);
  const joining = await timed(async () => cluster.addNode('joiner'));
  out(`one more node joined, with all of that, and was ready after ${Math.round(joining)} ms`);
};

const [what = 'visibility', size = '3'] = process.argv.slice(2);
try {
  const nodes = names.slice(0, Number(size));
  const config = what === 'partition' ? {...quiet, cluster: {heartbeat_interval: 10}} : quiet;
  const cluster = await startCluster(owner, {nodes, spare: ['joiner'], isProxied: what === 'partition', config});
  await makeKey(cluster);
  out(`${what}, ${nodes.length} nodes on one machine`);
  if (what === 'visibility') await measureVisibility(cluster, 500);
  else if (what === 'partition') await measurePartition(cluster, 60, 1000);
  else await measureScale(cluster, nodes.length === 3 ? 10_000 : 0);
} finally {
  for (const end of teardowns.reverse()) await end();
}

// What more nodes cost, and how soon two sides of a partition are alike again. All nodes are on this one machine.
import {readFile} from 'node:fs/promises';
import {setTimeout as delay} from 'node:timers/promises';
import {type Cluster, type ClusterNode, startCluster} from '../helpers/cluster.ts';
import {startOwner} from '../helpers/owner.ts';
import {timed} from './alternate.ts';
import type {Bench, BenchContext} from './bench.ts';
import {quantilesOf} from './quantiles.ts';

const names = ['alpha', 'beta', 'gamma', 'delta', 'epsilon', 'zeta', 'eta', 'theta', 'iota'];
const quiet = {log: {level: 'warn'}};

export const scale: Bench = {
  name: 'scale',
  seconds: 120,
  isExtra: true,
  rows: [
    {
      name: 'scale-visible',
      title: 'PUT until visible on 8 others, p50',
      anchor: 'on 2 others',
      wanted: {atMost: 5},
      unit: '×',
    },
    {name: 'scale-list', title: 'list of 100 over 9 nodes, p50', anchor: 'over 3 nodes', wanted: {atMost: 4}, unit: '×'},
    {
      name: 'scale-idle',
      title: 'CPU a second of an idle node among 9, heartbeats every second',
      anchor: '',
      wanted: {atMost: 150},
      unit: 'ms',
    },
  ],

  async run({report, isQuick}: BenchContext) {
    const few = await measureScale(3, isQuick);
    const many = await measureScale(9, isQuick);

    report('scale-visible', ratioOf(many.visibleMs, few.visibleMs));
    report('scale-list', ratioOf(many.listMs, few.listMs));
    report('scale-idle', {
      value: many.idleMs,
      own: `${many.idleMs.toFixed(0)} ms/s`,
      anchor: `3 nodes: ${few.idleMs.toFixed(0)} ms/s`,
    });
  },
};

export const healing: Bench = {
  name: 'healing',
  seconds: 75,
  isExtra: true,
  rows: [
    {
      name: 'healing',
      title: 'alike again after a partition with 1,000 changes on each side',
      anchor: '',
      wanted: {atMost: 10_000},
      unit: 'ms',
    },
  ],

  async run({owner, report, isQuick}: BenchContext) {
    const cluster = await startCluster(owner, {nodes: names.slice(0, 3), config: {...quiet, cluster: {heartbeat_interval: 10}}});
    const [seconds, changes] = isQuick ? [10, 100] : [60, 1000];
    const tookMs = await measureHealing(cluster, await adminKey(cluster), {seconds, changes});
    report('healing', {value: tookMs, own: `${Math.round(tookMs)} ms after ${seconds} s apart`});
  },
};

const ratioOf = (own: number, anchor: number) => ({
  value: own / anchor,
  own: `${own.toFixed(1)} ms`,
  anchor: `${anchor.toFixed(1)} ms`,
});

/** The first key's limit is for people, not for asking without a pause. */
const adminKey = async (cluster: Cluster<string>): Promise<string> => {
  const [first] = Object.values(cluster.nodes) as [ClusterNode];
  const {key} = await first.createKey('full-admin', {rate_limit_per_minute: 1_000_000});
  await cluster.converged();
  return key;
};

/** A cluster for as long as it is measured: the next one is not to share the machine with it. */
const measureScale = async (count: number, isQuick: boolean) => {
  const owner = startOwner();
  try {
    const cluster = await startCluster(owner, {nodes: names.slice(0, count), isProxied: false, config: quiet});
    const key = await adminKey(cluster);
    const idleMs = await measureIdle(Object.values(cluster.nodes), isQuick ? 3 : 20);
    const visibleMs = await measureVisibility(cluster, key, isQuick ? 20 : 100);
    const [first] = Object.values(cluster.nodes) as [ClusterNode];
    const lists: number[] = [];
    for (let round = 0; round < (isQuick ? 40 : 200); round += 1) lists.push(await timed(async () => list(first, key)));
    return {idleMs, visibleMs, listMs: quantilesOf(lists).p50};
  } finally {
    await owner.end();
  }
};

const measureIdle = async (nodes: ClusterNode[], seconds: number): Promise<number> => {
  const before = await Promise.all(nodes.map(async ({pid}) => cpuMs(pid())));
  await delay(seconds * 1000);
  const after = await Promise.all(nodes.map(async ({pid}) => cpuMs(pid())));
  return quantilesOf(after.map((ms, n) => (ms - (before[n] ?? 0)) / seconds)).p50;
};

/** CPU time of a process so far, in milliseconds; USER_HZ is 100. */
const cpuMs = async (pid: number): Promise<number> => {
  const fields = (await readFile(`/proc/${pid}/stat`, 'utf8')).split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) * 10;
};

/** Asked every other millisecond: without a pause the asking would be all that is measured. */
const measureVisibility = async (cluster: Cluster<string>, key: string, rounds: number): Promise<number> => {
  const [first, ...others] = Object.values(cluster.nodes) as [ClusterNode, ...ClusterNode[]];
  const {id} = await first.createDomain();
  await cluster.converged();
  const sees = async (node: ClusterNode, value: number) => {
    while ((await node.api('GET', `domains/${id}`, {key})).json.data?.quarantine_threshold !== value) await delay(1);
  };
  const visible: number[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    const value = (round % 50) / 10;
    const change = async () => put(first, key, {id, changes: {quarantine_threshold: value}});
    visible.push(await timed(async () => Promise.all([change(), ...others.map(async node => sees(node, value))])));
  }
  return quantilesOf(visible).p50;
};

/** Changes on both sides of a partition, and how long after it all nodes are alike. */
const measureHealing = async (
  cluster: Cluster<string>,
  key: string,
  {seconds, changes}: {seconds: number; changes: number},
): Promise<number> => {
  const [alpha, beta] = Object.values(cluster.nodes) as [ClusterNode, ClusterNode];
  const made: number[] = [];
  for (let n = 0; n < 100; n += 1) made.push((await alpha.createDomain()).id);
  await cluster.converged();
  cluster.isolate(alpha.node_id);
  const until = performance.now() + seconds * 1000;
  const side = async (node: ClusterNode, changesOf: (n: number) => object) => {
    for (let n = 0; n < changes; n += 1) await put(node, key, {id: made[n % made.length] ?? 0, changes: changesOf(n)});
  };
  await Promise.all([
    side(alpha, n => ({quarantine_threshold: (n % 40) / 10})),
    side(beta, n => ({reject_threshold: 20 + (n % 40)})),
  ]);
  await delay(Math.max(0, until - performance.now()));
  cluster.heal();
  const ownHash = async (node: ClusterNode) =>
    (await node.status()).peers.find(({node_id}) => node_id === node.node_id)?.config_hash;
  const areAlike = async () => new Set(await Promise.all(Object.values(cluster.nodes).map(ownHash))).size === 1;
  return timed(async () => {
    while (!(await areAlike())) await delay(20);
  });
};

const put = async (node: ClusterNode, key: string, {id, changes}: {id: number; changes: object}): Promise<void> => {
  const {status} = await node.api('PUT', `domains/${id}`, {body: changes, key});
  if (status !== 200) throw new Error(`PUT: ${status}`);
};

const list = async (node: ClusterNode, key: string): Promise<void> => {
  const {status, json} = await node.api('GET', 'mail/quarantine?limit=100', {key});
  if (status !== 200 || json.message !== 'OK') throw new Error(`list: ${status} ${json?.message}`);
};

// Wrong wall clocks that change while nodes run: no node is considered away, and the later write wins.
import {setTimeout as delay} from 'node:timers/promises';
import type {ClusterNode} from '../helpers/cluster.ts';
import {eventually} from '../helpers/eventually.ts';
import {startWallClocks, wallClocksMissing} from '../helpers/wall-clocks.ts';
import {type CutCluster, startCutCluster} from './cut-cluster.ts';
import type {Fault} from './fault.ts';
import {bySight} from './merge-ledger.ts';
import {type Plan, stepsOf} from './partition-plan.ts';
import {playRound} from './partition-round.ts';
import type {Random} from './random.ts';

const names = ['alpha', 'beta', 'gamma'];
const mostSeconds = 600;

/** Seconds by which a node's clock is wrong. */
type Offsets = Record<string, number>;

interface ClockPlan extends Plan {
  before: Offsets;
  during: Offsets;
  /** Its clock is set while it is stopped. */
  restarted: string | undefined;
}

export const clocks: Fault = {
  name: 'clocks',
  title: 'clocks ±10 min, that jump forth and back under way',
  rounds: 20,
  shortRounds: 1,
  pass: 'converges, later writes win, health does not flap',
  missing: async () => wallClocksMissing,

  async run({rounds, isShort, owner, randomOf, say}) {
    const wallClocks = await startWallClocks(owner, names);
    const bench = await startCutCluster(owner, {names, precedes: bySight, env: wallClocks.env});
    const transitions = new Map(names.map(name => [name, 0]));
    const violations: string[] = [];
    let alikeMs = 0;
    let jumps = 0;
    for (let round = 0; round < rounds; round += 1) {
      const plan = planOf(randomOf(round), isShort);
      jumps += await wallClocks.set(plan.before);
      if (plan.restarted !== undefined) {
        await noteTransitions(bench.node(plan.restarted), transitions);
        await bench.node(plan.restarted).stop();
        await bench.node(plan.restarted).start();
      }
      const report = await playRound(bench, plan, {
        round,
        meanwhile: async () => {
          await delay((plan.seconds * 1000) / 2);
          jumps += await wallClocks.set(plan.during);
        },
      });
      alikeMs = Math.max(alikeMs, report.alikeMs);
      const faults = [...report.faults, ...(await awayFrom(bench)), ...(await unseenSkews(bench, plan.during))];
      violations.push(...faults.map(fault => `round ${round} (${plan.name}): ${fault}`));
      say(`round ${round} (${plan.name}): alike after ${report.alikeMs} ms, ${faults.length} violations`);
    }
    for (const node of bench.nodes) await noteTransitions(node, transitions);
    for (const [name, count] of transitions) if (count > 0) violations.push(`${name} saw health change ${count} times`);
    const changes = bench.edits.ledger.acknowledged;
    const {held, acts} = bench.book.counts;
    return {rounds, violations, figures: {jumps, changes, mails: held, acts, 'alike ms': alikeMs}};
  },
};

const planOf = (random: Random, isShort: boolean): ClockPlan => {
  const offsets = (): Offsets =>
    Object.fromEntries(names.map(name => [name, random.pick([-mostSeconds, 0, mostSeconds, random.between(-600, 600)])]));
  const [before, during] = [offsets(), offsets()];
  // At least one goes back as far as possible while the node is asked to write.
  const back = random.pick(names);
  Object.assign(before, {[back]: mostSeconds});
  Object.assign(during, {[back]: -mostSeconds});
  const restarted = random.chance(0.3) ? random.pick(names) : undefined;
  const away = random.chance(0.5) ? random.pick(names) : undefined;
  const others = names.filter(name => name !== away);
  const lines = away === undefined ? [] : others.flatMap(name => [[away, name] as const, [name, away] as const]);
  const seconds = isShort ? 2 : 4;
  return {
    name: [
      `${JSON.stringify(before)} then ${JSON.stringify(during)}`,
      ...(restarted === undefined ? [] : [`${restarted} restarted`]),
      ...(away === undefined ? [] : [`${away} away`]),
    ].join(', '),
    names,
    seconds,
    before,
    during,
    restarted,
    cuts: lines.map(([from, to]) => ({from, to, mode: 'refuse'})),
    steps: stepsOf(random, names, {seconds, count: isShort ? 30 : 50}),
  };
};

/** Nodes that any node considers stale or offline. */
const awayFrom = async ({nodes, key}: CutCluster): Promise<string[]> => {
  const told = await Promise.all(
    nodes.map(async node => {
      const {json} = await node.api('GET', 'cluster/status', {key});
      const peers = json.data.peers as {node_id: string; healthy: string}[];
      return peers
        .filter(({healthy}) => healthy !== 'online')
        .map(peer => `${peer.node_id} is ${peer.healthy} for ${node.node_id}`);
    }),
  );
  return told.flat();
};

/** Clocks are compared and shown, whatever their values. */
const unseenSkews = async ({nodes}: CutCluster, offsets: Offsets): Promise<string[]> => {
  let wrong: string[] = [];
  const skewsOf = async ({node_id, metrics_url}: ClusterNode): Promise<string[]> => {
    const text = await (await fetch(`${metrics_url}/metrics`)).text();
    const shown = text.matchAll(/^mfd_cluster_clock_skew_seconds\{node="(\w+)"\} (\S+)/gm);
    return [...shown].flatMap(([, other = '', seconds]) => {
      const skew = (offsets[other] ?? 0) - (offsets[node_id] ?? 0);
      return Math.abs(Number(seconds) - skew) < 5 ? [] : [`${node_id} shows ${seconds} s for ${other}, which is ${skew} s ahead`];
    });
  };
  const isRight = async () => {
    wrong = (await Promise.all(nodes.map(skewsOf))).flat();
    return wrong.length === 0;
  };
  return eventually(isRight, 10_000).then(
    () => [],
    () => wrong,
  );
};

/** Adds the transitions that a node has counted since its last start. */
const noteTransitions = async ({node_id, metrics_url}: ClusterNode, transitions: Map<string, number>): Promise<void> => {
  const text = await (await fetch(`${metrics_url}/metrics`)).text();
  const count = Number(/^mfd_cluster_health_transitions_total (\d+)/m.exec(text)?.[1]);
  transitions.set(node_id, (transitions.get(node_id) ?? 0) + count);
};

// A node that hangs or has a bad connection, and the other nodes, which must not wait for it.
import {setTimeout as delay} from 'node:timers/promises';
import type {ClusterNode} from '../helpers/cluster.ts';
import {type CutCluster, startCutCluster} from './cut-cluster.ts';
import type {Fault} from './fault.ts';
import {namedIn} from './mail-book.ts';
import {byTime} from './merge-ledger.ts';
import {untilComplete} from './partition-round.ts';
import type {Random} from './random.ts';

const names = ['alpha', 'beta', 'gamma'];
const troubles = ['stopped', '64 kbit/s', '500 ms'] as const;
type Trouble = (typeof troubles)[number];

const bytesPerSecond = 64_000 / 8;
const delayMs = 500;
const mostListMs = 3000;
const recoveryMs = 10_000;
/** Calls that do not involve the slow node may take this long, or three times as long as before. */
const unaffectedMs = 1000;
const heldBefore = 60;

/** Milliseconds that each kind of call took. */
type Times = Record<'list' | 'mail' | 'own' | 'put', number[]>;

interface Calls {
  bench: CutCluster;
  domainId: number;
  round: number;
  times: Times;
  faults: string[];
  partial: number;
}

export const slowPeer: Fault = {
  name: 'slow-peer',
  title: 'a node that is stopped, behind 64 kbit/s, or 500 ms away',
  rounds: 20,
  shortRounds: 3,
  pass: 'list ≤ 3 s and partial (or complete), others unaffected',

  async run({rounds, isShort, owner, randomOf, say}) {
    const bench = await startCutCluster(owner, {names, precedes: byTime});
    const [first] = bench.nodes as [ClusterNode];
    const {id: domainId} = await first.createDomain();
    for (let n = 0; n < heldBefore; n += 1) await bench.book.hold(bench.nodes[n % 3] as ClusterNode, `before ${n}`);
    const violations: string[] = [];
    const all: {before: Times; during: Times}[] = [];
    let partial = 0;
    for (let round = 0; round < rounds; round += 1) {
      const {victim: name, trouble} = planOf(randomOf(round), round);
      const victim = bench.node(name);
      const others = bench.nodes.filter(({node_id}) => node_id !== victim.node_id);
      const calls: Calls = {bench, domainId, round, times: noTimes(), faults: [], partial: 0};
      await callFor(calls, others, isShort ? 500 : 1000);
      const before = calls.times;
      calls.times = noTimes();

      const end = begin(bench, victim, trouble);
      try {
        await callFor(calls, others, isShort ? 1500 : 5000);
      } finally {
        end();
      }
      const faults = [...calls.faults, ...judge(before, calls.times), ...(await recovered(bench))];
      violations.push(...faults.map(fault => `round ${round} (${victim.node_id} ${trouble}): ${fault}`));
      all.push({before, during: calls.times});
      partial += calls.partial;
      say(
        `round ${round} (${victim.node_id} ${trouble}): ${shown(before)}; then ${shown(calls.times)}; ${faults.length} violations`,
      );
    }
    violations.push(...(await bench.book.judge(first)));
    return {rounds, violations, figures: {...figuresOf(all), partial, mails: bench.book.counts.held}};
  },
};

const planOf = (random: Random, round: number): {victim: string; trouble: Trouble} => ({
  victim: random.pick(names),
  trouble: troubles[round % troubles.length] as Trouble,
});

const noTimes = (): Times => ({list: [], mail: [], own: [], put: []});

/** Returns a function that ends the trouble. */
const begin = ({cluster, cuts}: CutCluster, victim: ClusterNode, trouble: Trouble): (() => void) => {
  const others = names.filter(name => name !== victim.node_id);
  const lines = others.flatMap(name => [cluster.line(name, victim.node_id), cluster.line(victim.node_id, name)]);
  switch (trouble) {
    case 'stopped':
      victim.signal('SIGSTOP');
      // No line is cut, but no node can reach it.
      cuts.set(others.map(from => ({from, to: victim.node_id, mode: 'pass'})));
      return () => {
        victim.signal('SIGCONT');
        cuts.set([]);
      };
    case '64 kbit/s':
      for (const line of lines) line.throttle(bytesPerSecond);
      return cluster.heal;
    case '500 ms':
      for (const line of lines) line.delay(delayMs);
      return cluster.heal;
    default:
      return trouble satisfies never;
  }
};

/** All kinds of calls, at each of these nodes, for this time. */
const callFor = async (calls: Calls, nodes: ClusterNode[], ms: number): Promise<void> => {
  const endsAt = performance.now() + ms;
  const repeat = async (pauseMs: number, call: (n: number) => Promise<void>) => {
    for (let n = 0; performance.now() < endsAt; n += 1) {
      await call(n).catch(error => void calls.faults.push(String(error)));
      await delay(pauseMs);
    }
  };
  await Promise.all(
    nodes.flatMap(node => [
      repeat(100, async n => list(calls, node, n)),
      repeat(150, async () => own(calls, node)),
      repeat(150, async n => put(calls, node, n)),
      repeat(500, async n => {
        calls.times.mail.push(await calls.bench.book.hold(node, `round ${calls.round} ${node.node_id} ${endsAt} ${n}`));
      }),
    ]),
  );
};

/** The whole list, alternating with a page that a slow line may deliver in time. */
const list = async (calls: Calls, node: ClusterNode, n: number): Promise<void> => {
  const {bench, times, faults} = calls;
  if (n % 2 === 0) {
    const seen = await bench.book.list(node);
    times.list.push(seen.ms);
    faults.push(...seen.faults);
    calls.partial += Number(seen.named.length > 0);
    return;
  }
  const from = performance.now();
  const answer = await node.api('GET', 'mail/quarantine?limit=5', {key: bench.key});
  times.list.push(performance.now() - from);
  const isPartial = namedIn(answer).length > 0;
  calls.partial += Number(isPartial);
  if (answer.status !== 200 || (answer.json.message === 'Partial') !== isPartial)
    faults.push(`a page of ${node.node_id} was ${answer.status} ${answer.json.message}`);
};

const own = async ({bench, times, faults}: Calls, node: ClusterNode): Promise<void> => {
  const seen = await bench.book.list(node, `node=${node.node_id}`);
  times.own.push(seen.ms);
  faults.push(...seen.faults, ...seen.named.map(name => `a list of ${node.node_id} alone lacks ${name}`));
};

const put = async ({bench, domainId, times, round}: Calls, node: ClusterNode, n: number): Promise<void> => {
  const from = performance.now();
  const body = {tenant_id: `${node.node_id} ${round} ${n} ${Math.round(from)}`};
  const {status} = await node.api('PUT', `domains/${domainId}`, {key: bench.key, body});
  times.put.push(performance.now() - from);
  if (status !== 200) throw new Error(`PUT at ${node.node_id} was answered ${status}`);
};

const judge = (before: Times, during: Times): string[] => {
  const alone = ['mail', 'own', 'put'] as const;
  // The delay of the machine itself, measured by calls that involve no other node.
  const lateMs = Math.max(...alone.map(what => most(during[what])));
  const slow = during.list.filter(ms => ms > mostListMs + lateMs);
  return [
    ...slow.map(ms => `a list took ${Math.round(ms)} ms`),
    ...alone
      .filter(what => quantile(during[what], 0.9) > Math.max(unaffectedMs, 3 * quantile(before[what], 0.9)))
      .map(what => `${what} took ${shown(during)}, before ${shown(before)}`),
    ...alone.filter(what => during[what].length === 0).map(what => `no ${what} came to an end`),
  ];
};

const recovered = async (bench: CutCluster): Promise<string[]> => {
  const late = (what: string) => (error: unknown) => [`${what}: ${error instanceof Error ? error.message : error}`];
  const none = (): string[] => [];
  const both = await Promise.all([
    bench.alike(recoveryMs).then(none, late('not alike')),
    untilComplete(bench, recoveryMs).then(none, late('not complete')),
  ]);
  return both.flat();
};

const quantile = (numbers: number[], share: number): number =>
  numbers.toSorted((a, b) => a - b)[Math.floor(share * (numbers.length - 1))] ?? 0;

const most = (numbers: number[]): number => Math.round(Math.max(0, ...numbers));

const shown = (times: Times): string =>
  Object.entries(times)
    .map(([what, all]) => `${what} ${Math.round(quantile(all, 0.5))}/${most(all)} ms`)
    .join(' ');

const figuresOf = (rounds: {before: Times; during: Times}[]): Record<string, string | number> => {
  const gathered = (when: 'before' | 'during', what: keyof Times) => rounds.flatMap(round => round[when][what]);
  const middle = (what: keyof Times) =>
    `${Math.round(quantile(gathered('before', what), 0.5))}→${Math.round(quantile(gathered('during', what), 0.5))}`;
  return {
    lists: gathered('during', 'list').length,
    'slowest list ms': most(gathered('during', 'list')),
    'p50 ms before→during: mail': middle('mail'),
    own: middle('own'),
    put: middle('put'),
  };
};

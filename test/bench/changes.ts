// Time from a change of configuration until all nodes have it.
import {readFile} from 'node:fs/promises';
import {Agent} from 'node:https';
import {setTimeout as delay} from 'node:timers/promises';
import {type ApiAnswer, callApi} from '../helpers/api-call.ts';
import {startCluster} from '../helpers/cluster.ts';
import type {TestNode} from '../helpers/node.ts';
import {alternate, timed} from './alternate.ts';
import {startDurableNodes} from './anchors/durable-write.ts';
import type {Bench, BenchContext, Row} from './bench.ts';
import {quantilesOf} from './quantiles.ts';

const rows: readonly Row[] = [
  {
    name: 'put-visible',
    title: 'domain PUT until visible on 2 peers, one at a time, p50',
    anchor: 'bare three-node durable write',
    wanted: {atMost: 5},
    unit: '×',
  },
];

export const changes: Bench = {
  name: 'changes',
  rows,
  seconds: 30,
  async run(context) {
    await measureVisible(context);
  },
};

const quiet = {log: {level: 'warn'}};
/** Replaces the first key, whose rate limit is made for people. */
const tirelessKey = {name: 'bench', scope: 'full-admin', rate_limit_per_minute: 1_000_000};

type Call = (method: string, path: string, body?: object) => Promise<ApiAnswer>;

interface Caller {
  node: TestNode;
  call: Call;
}

/** `key`: a key that the node already has; a new one when left out. */
const callerOf = async ({owner}: BenchContext, node: TestNode, key?: string): Promise<Caller & {key: string}> => {
  const agent = new Agent({keepAlive: true, ca: await readFile(node.ca_file, 'utf8')});
  owner.teardown(() => agent.destroy());
  const made = key ?? (await node.api('POST', 'auth/api-keys', {body: tirelessKey})).json.data.key;
  const call: Call = async (method, path, body) => {
    const answer = await callApi(agent, {...node, api_key: made}, {method, path, body});
    if (answer.status >= 300) throw new Error(`${method} ${path} of ${node.node_id}: ${answer.status} ${answer.body}`);
    return answer;
  };
  return {node, call, key: made};
};

/** Polls every other millisecond: without a pause the polling itself would dominate the measurement. */
const until = async (isSeen: () => Promise<boolean>): Promise<void> => {
  while (!(await isSeen())) await delay(1);
};

const hasThreshold = async ({call}: Caller, id: number, value: number): Promise<boolean> =>
  (await call('GET', `domains/${id}`)).json.data.quarantine_threshold === value;

const measureVisible = async (context: BenchContext): Promise<void> => {
  const {owner, isQuick, report, say} = context;
  const cluster = await startCluster(owner, {isProxied: false, config: quiet});
  const {alpha, beta, gamma} = cluster.nodes;
  const first = await callerOf(context, alpha);
  const created = await first.call('POST', 'domains', {name: 'd0.example', backend_servers: ['127.0.0.1:25']});
  const {id} = created.json.data;
  await cluster.converged();
  const others = [await callerOf(context, beta, first.key), await callerOf(context, gamma, first.key)];
  const [writer, ...readers] = await startDurableNodes(owner);
  let round = 0;
  const times = await alternate(
    {
      own: async () => {
        round += 1;
        const value = (round % 140) / 10;
        return timed(async () =>
          Promise.all([
            first.call('PUT', `domains/${id}`, {quarantine_threshold: value}),
            ...others.map(async other => until(async () => hasThreshold(other, id, value))),
          ]),
        );
      },
      bare: async () => {
        round += 1;
        const value = String(round);
        return timed(async () =>
          Promise.all([
            writer.write('item', value),
            ...readers.map(async reader => until(async () => (await reader.read('item')) === value)),
          ]),
        );
      },
    },
    {rounds: isQuick ? 40 : 300, warmUps: 10},
  );
  const [own, bare] = [quantilesOf(times.own), quantilesOf(times.bare)];
  report('put-visible', {
    value: own.p50 / bare.p50,
    own: `${own.p50.toFixed(1)} ms (p99 ${own.p99.toFixed(1)})`,
    anchor: `${bare.p50.toFixed(1)} ms (p99 ${bare.p99.toFixed(1)})`,
  });
  say(`${isQuick ? 'quick, ' : ''}three nodes of our own and three bare ones, all on this machine`);
};

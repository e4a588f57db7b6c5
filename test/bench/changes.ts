// What a change of configuration costs: until all nodes have it, and with ten thousand domains.
import {readFile} from 'node:fs/promises';
import {Agent} from 'node:https';
import {setTimeout as delay} from 'node:timers/promises';
import {type ApiAnswer, callApi} from '../helpers/api-call.ts';
import {startCluster} from '../helpers/cluster.ts';
import {startNode, type TestNode} from '../helpers/node.ts';
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
  {name: 'domains-put', title: 'PUT with 10,000 domains, p50', anchor: 'with 10', wanted: {atMost: 1.5}, unit: '×'},
  {
    name: 'domains-list',
    title: 'GET /domains with 10,000, per domain, p50',
    anchor: 'with 10',
    wanted: {atMost: 1.5},
    unit: '×',
  },
  {
    name: 'domains-hash',
    title: 'configuration hash with 10,000 domains, p50',
    anchor: 'with 10',
    wanted: {atMost: 1.5},
    unit: '×',
  },
];

export const changes: Bench = {
  name: 'changes',
  rows,
  seconds: 90,
  async run(context) {
    if (context.isWanted('put-visible')) await measureVisible(context);
    if (['domains-put', 'domains-list', 'domains-hash'].some(context.isWanted)) await measureSize(context);
  },
};

const createdTogether = 64;
const quiet = {log: {level: 'warn'}};
/** The first key's limit is for people. */
const tirelessKey = {name: 'bench', scope: 'full-admin', rate_limit_per_minute: 1_000_000};

type Call = (method: string, path: string, body?: object) => Promise<ApiAnswer>;

interface Caller {
  node: TestNode;
  call: Call;
}

/** `with`: a node that has the key already. */
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

const createDomains = async (call: Call, count: number): Promise<number[]> => {
  const ids: number[] = [];
  let next = 0;
  const worker = async () => {
    while (next < count) {
      const name = `d${next}.example`;
      next += 1;
      ids.push((await call('POST', 'domains', {name, backend_servers: ['127.0.0.1:25']})).json.data.id);
    }
  };
  await Promise.all(Array.from({length: Math.min(createdTogether, count)}, worker));
  return ids;
};

/** Asked every other millisecond: without a pause the asking would be all that is measured. */
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
  const [id = 0] = await createDomains(first.call, 1);
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

/** CPU time of a process so far, in milliseconds; USER_HZ is 100. */
const cpuMs = async (pid: number): Promise<number> => {
  const fields = (await readFile(`/proc/${pid}/stat`, 'utf8')).split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) * 10;
};

interface Sized extends Caller {
  ids: number[];
  /** Of the daemon, spent in changes. */
  putCpuMs: number;
}

const measureSize = async (context: BenchContext): Promise<void> => {
  const {owner, isQuick, report, say} = context;
  const open = async (count: number): Promise<Sized> => {
    const caller = await callerOf(context, await startNode(owner, {config: quiet}));
    return {...caller, ids: await createDomains(caller.call, count), putCpuMs: 0};
  };
  const few = await open(10);
  const startedAt = performance.now();
  const many = await open(isQuick ? 2000 : 10_000);
  say(`${many.ids.length} domains made in ${((performance.now() - startedAt) / 1000).toFixed(1)} s`);

  const compare = async (measure: (sized: Sized) => Promise<number>, rounds: number) => {
    const times = await alternate({few: async () => measure(few), many: async () => measure(many)}, {rounds, warmUps: 5});
    return {few: quantilesOf(times.few).p50, many: quantilesOf(times.many).p50};
  };

  let round = 0;
  const putsPerRound = 20;
  const puts = await compare(
    async sized => {
      round += 1;
      const before = await cpuMs(sized.node.pid());
      const times: number[] = [];
      for (let n = 0; n < putsPerRound; n += 1) {
        const body = {quarantine_threshold: ((round + n) % 140) / 10};
        const id = sized.ids[(round * 7 + n) % sized.ids.length] ?? 0;
        times.push(await timed(async () => sized.call('PUT', `domains/${id}`, body)));
      }
      sized.putCpuMs += (await cpuMs(sized.node.pid())) - before;
      return quantilesOf(times).p50;
    },
    isQuick ? 10 : 30,
  );
  const cpu = (sized: Sized) => `${(sized.putCpuMs / ((isQuick ? 15 : 35) * putsPerRound)).toFixed(1)} ms CPU each`;
  report('domains-put', {
    value: puts.many / puts.few,
    own: `${puts.many.toFixed(2)} ms, ${cpu(many)}`,
    anchor: `${puts.few.toFixed(2)} ms, ${cpu(few)}`,
  });

  const lists = await compare(async ({call, ids}) => (await timed(async () => call('GET', 'domains'))) / ids.length, 20);
  report('domains-list', {
    value: lists.many / lists.few,
    own: `${(lists.many * many.ids.length).toFixed(1)} ms for ${many.ids.length}`,
    anchor: `${(lists.few * few.ids.length).toFixed(1)} ms for ${few.ids.length}`,
  });

  const hashes = await compare(async ({call}) => timed(async () => call('GET', 'cluster/status')), isQuick ? 50 : 200);
  report('domains-hash', {
    value: hashes.many / hashes.few,
    own: `${hashes.many.toFixed(2)} ms`,
    anchor: `${hashes.few.toFixed(2)} ms`,
  });
};

// Mail held and released by nodes on one PostgreSQL, beside nodes on SQLite; and their memory.
import {setTimeout as delay} from 'node:timers/promises';
import {formatHostPort} from '../../shared/host-port.ts';
import {startCluster} from '../helpers/cluster.ts';
import {holdAll} from '../helpers/mail-node.ts';
import {type NodeOptions, startNode} from '../helpers/node.ts';
import {databaseOf} from '../helpers/node-store.ts';
import {postgresMissing} from '../helpers/postgres-programs.ts';
import {type PostgresServer, startPostgres} from '../helpers/postgres-server.ts';
import {releasesASecond, type Stock, startHold} from './actions.ts';
import {alternate} from './alternate.ts';
import {startBareInserts} from './anchors/bare-inserts.ts';
import type {Bench, BenchContext, Row} from './bench.ts';
import {createExampleDomain} from './example-domain.ts';
import {mib, residentMiB} from './memory.ts';
import {quantilesOf} from './quantiles.ts';
import {startNodeProcess} from './server-process.ts';
import {kept} from './smtp.ts';
import {type SmtpLoad, startBareBackend, startSmtpLoad} from './smtp-load.ts';

const beside = {anchor: 'SQLite', unit: '×'} as const;

const rows: readonly Row[] = [
  {name: 'postgres-held', title: 'held mail of 10 KB on PostgreSQL, mails a second', ...beside, wanted: {atLeast: 0.7}},
  {name: 'postgres-bare', title: 'the same', anchor: 'bare inserts of the same rows', unit: '×'},
  {name: 'postgres-release', title: 'one release until it is delivered, time', ...beside, wanted: {atMost: 2}},
  {name: 'postgres-memory', title: 'idle memory of a node on PostgreSQL', ...beside, wanted: {atMost: 1.2}},
  {name: 'postgres-nodes', title: 'three nodes on one server, held mails a second', anchor: 'one node', unit: '×'},
];

export const postgresHold: Bench = {
  name: 'postgres-hold',
  rows,
  seconds: 150,
  missing: postgresMissing,
  async run(context) {
    const {owner, isWanted} = context;
    const postgres = await startPostgres(owner, {settings: {shared_buffers: '256MB'}});
    const load = startSmtpLoad(owner);
    if (isWanted('postgres-held') || isWanted('postgres-bare')) await measureHeld(context, {postgres, load});
    if (isWanted('postgres-release')) await measureRelease(context, postgres);
    if (isWanted('postgres-memory')) await measureMemory(context, postgres);
    if (isWanted('postgres-nodes')) await measureNodes(context, postgres);
  },
};

const median = (values: number[]): number => quantilesOf(values).p50;
const perSecond = (value: number): string => `${Math.round(value)} mails/s`;

const measureHeld = async (
  {owner, isQuick, report}: BenchContext,
  {postgres, load}: {postgres: PostgresServer; load: SmtpLoad},
): Promise<void> => {
  const backend = `127.0.0.1:${await startBareBackend(owner)}`;
  const start = async (options: NodeOptions) => {
    const node = await startNode(owner, {...options, config: {smtp: {reverse_lookup: false}, log: {level: 'warn'}}});
    await createExampleDomain(node, backend, holdAll);
    return node;
  };
  const [own, sqlite] = [await start({postgres}), await start({})];
  const template = await start({postgres});
  await load.rate({...kept, port: template.smtpPort, count: 1});
  await template.stop();
  const bare = await startBareInserts(owner, postgres, await databaseOf(template.data));
  const count = isQuick ? 400 : 2000;
  const rate = async ({smtpPort: port}: {smtpPort: number}) => load.rate({...kept, port, count});
  const rates = await alternate(
    {own: async () => rate(own), sqlite: async () => rate(sqlite), bare: async () => bare.rate({...kept, count})},
    {rounds: isQuick ? 3 : 5, warmUps: 2},
  );
  for (const node of [own, sqlite]) await node.stop();
  const ratio = (to: number[]) => median(rates.own.map((value, n) => value / (to[n] ?? Number.NaN)));
  const ownText = perSecond(median(rates.own));
  report('postgres-held', {value: ratio(rates.sqlite), own: ownText, anchor: perSecond(median(rates.sqlite))});
  report('postgres-bare', {value: ratio(rates.bare), own: ownText, anchor: perSecond(median(rates.bare))});
};

const measureRelease = async ({owner, isQuick, report}: BenchContext, postgres: PostgresServer): Promise<void> => {
  const [singles, rounds] = isQuick ? [10, 3] : [60, 5];
  const stockOf = async (options: NodeOptions): Promise<Stock> => {
    const hold = await startHold(owner, options);
    await hold.hold(singles * (rounds + 1));
    return {hold, mails: await hold.mails()};
  };
  const [own, sqlite] = [await stockOf({postgres}), await stockOf({})];
  const timeOf = async (stock: Stock) => 1000 / (await releasesASecond(stock, singles));
  const times = await alternate({own: async () => timeOf(own), sqlite: async () => timeOf(sqlite)}, {rounds});
  const [time, anchor] = [median(times.own), median(times.sqlite)];
  report('postgres-release', {
    value: median(times.own.map((value, n) => value / (times.sqlite[n] ?? Number.NaN))),
    own: `${time.toFixed(2)} ms`,
    anchor: `${anchor.toFixed(2)} ms`,
  });
};

const measureMemory = async ({owner, isQuick, report}: BenchContext, postgres: PostgresServer): Promise<void> => {
  const memoryOf = async (options: NodeOptions): Promise<number> => {
    const node = await startNode(owner, options);
    await node.stop();
    const {pid, end} = await startNodeProcess(owner, node.data, `${node.data}/mfd.log`);
    for (let requests = 0; requests < 10; requests += 1) await node.api('GET', 'mail/quarantine?limit=100');
    // V8 frees the memory of the start after an idle period.
    await delay(isQuick ? 3000 : 25_000);
    const memory = await residentMiB(pid);
    await end();
    return memory;
  };
  const [own, sqlite] = [await memoryOf({postgres}), await memoryOf({})];
  report('postgres-memory', {value: own / sqlite, own: mib(own), anchor: mib(sqlite)});
};

/** The same mails in total, over as many nodes. */
const measureNodes = async ({owner, isQuick, report}: BenchContext, postgres: PostgresServer): Promise<void> => {
  const cluster = await startCluster(owner, {postgres, isProxied: false, config: {log: {level: 'warn'}}});
  const nodes = Object.values(cluster.nodes);
  await nodes[0]?.createDomain({name: 'example.com', backend_servers: [formatHostPort(cluster.sink.server)], ...holdAll});
  await cluster.converged();
  const loads = nodes.map(() => startSmtpLoad(owner));
  const total = isQuick ? 600 : 3000;
  const rateOf = async (some: number) => {
    const count = total / some;
    const startedAt = performance.now();
    await Promise.all(nodes.slice(0, some).map(async ({smtpPort: port}, n) => loads[n]?.rate({...kept, port, count})));
    return (total * 1000) / (performance.now() - startedAt);
  };
  const rates = await alternate(
    {one: async () => rateOf(1), two: async () => rateOf(2), three: async () => rateOf(3)},
    {rounds: isQuick ? 2 : 5, warmUps: 1},
  );
  const [one, two, three] = [rates.one, rates.two, rates.three].map(median) as [number, number, number];
  report('postgres-nodes', {
    value: three / one,
    own: `two ${perSecond(two)}, three ${perSecond(three)}`,
    anchor: perSecond(one),
  });
};

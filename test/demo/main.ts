// `npm run demo`: three nodes on loopback, sample domains and a continuous flow of sample mail, until Ctrl-C. Leaves nothing
// behind. With `-- --postgres` the nodes share a PostgreSQL, which the demo starts too.
import {mkdtemp, rm} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {setTimeout as delay} from 'node:timers/promises';
import {parseArgs} from 'node:util';
import {createClosers} from '../../daemon/node/closers.ts';
import {safeLine} from '../../shared/safe-text.ts';
import {type ClusterNode, startCluster} from '../helpers/cluster.ts';
import type {Owner} from '../helpers/daemon.ts';
import {postgresMissing} from '../helpers/postgres-programs.ts';
import {startPostgres} from '../helpers/postgres-server.ts';
import {addContexts} from './contexts.ts';
import {createSampleDomains} from './sample-domains.ts';
import {sampleCount, sendSample} from './sample-mail.ts';

const nodeIds = ['demo-alpha', 'demo-beta', 'demo-gamma'] as const;
const everyMs = 1000;
/** Long enough for the others to see it as stale. */
const awayMs = 90_000;

const print = (line: string) => void process.stdout.write(`${line}\n`);
const complain = (error: unknown) =>
  void process.stderr.write(`demo: ${safeLine(error instanceof Error ? error.message : String(error))}\n`);

const withPostgres = async (owner: Owner) => {
  if (postgresMissing() !== undefined) throw new Error('--postgres needs PostgreSQL on this machine: apt-get install postgresql');
  print('Starting PostgreSQL …');
  return startPostgres(owner);
};

const start = async (owner: Owner, folder: string, hasPostgres: boolean): Promise<ClusterNode[]> => {
  const postgres = hasPostgres ? await withPostgres(owner) : undefined;
  print('Starting three nodes …');
  const {nodes, converged} = await startCluster(owner, {
    nodes: nodeIds,
    isProxied: false,
    folder,
    config: {log: {level: 'warn'}},
    ...(postgres && {postgres}),
  });
  const all = nodeIds.map(id => nodes[id]);
  await createSampleDomains(all);
  await converged();
  const contexts = await addContexts(owner, all);
  print(welcome(all, contexts));
  return all;
};

const welcome = (nodes: ClusterNode[], contexts: string[]): string => {
  const [first = '', second = '', third = ''] = contexts;
  const last = nodes.at(-1);
  const hints = [
    [`bin/mfctl -c ${first} dashboard`, 'the cluster, the quarantine and the rest, full screen'],
    [`bin/mfctl -c ${second} quarantine list`, 'what all nodes hold, asked of any of them'],
    [`bin/mfctl -c ${third} quarantine release NODE/QUEUE-ID`, 'by the node that holds it'],
    [`bin/mfctl -c ${first} domain update school.example --quarantine-threshold 5`, 'on every node at once'],
    [`bin/mfctl -c ${first} cluster status`, 'how each node is'],
    [`kill ${last?.pid()}`, `ends ${last?.node_id}; it comes back by itself after ${awayMs / 1000} s`],
  ] as const;
  return [
    '',
    ...nodes.map(({node_id, api_url, smtp, pid}) =>
      [node_id.padEnd(10), `API ${api_url}`, `SMTP ${smtp}`, `process ${pid()}`].join('  '),
    ),
    '',
    'Every second, one of them gets a mail for bakery.example, clinic.example or school.example. In another terminal:',
    ...hints.map(([command, what]) => `  ${command.padEnd(78)}  ${what}`),
    '',
    'Ctrl-C ends the demo; nothing of it is left then.',
    '',
  ].join('\n');
};

const trickle = async (nodes: ClusterNode[], signal: AbortSignal): Promise<void> => {
  const goneAt = new Map<ClusterNode, number>();
  for (let n = 0; !signal.aborted; n += 1) {
    // In each round of the samples every mail goes to another node.
    const node = nodes[(n + Math.floor(n / sampleCount)) % nodes.length] as ClusterNode;
    const said = await sendSample(n, node.smtpPort).catch(() => 'cannot be reached');
    if (signal.aborted) return;
    // The backend stores received mail for tests.
    node.sink.mails.splice(0);
    print(`${new Date().toISOString().slice(11, 19)}  ${node.node_id.padEnd(10)}  ${safeLine(said)}`);
    for (const one of nodes.filter(each => !each.isRunning())) {
      if (!goneAt.has(one)) goneAt.set(one, performance.now());
      if (performance.now() - (goneAt.get(one) ?? 0) < awayMs) continue;
      goneAt.delete(one);
      await one.start().catch(complain);
    }
    await delay(everyMs, undefined, {signal}).catch(() => undefined);
  }
};

const demo = async (hasPostgres: boolean): Promise<number> => {
  const ending = new AbortController();
  const end = () => ending.abort();
  let code = 0;
  const fail = (error: unknown) => {
    if (!ending.signal.aborted) complain(error);
    code = ending.signal.aborted ? code : 1;
    end();
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, end);
  // The reader of the output has gone.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', end);
  process.on('uncaughtException', fail);

  const folder = await mkdtemp(join(tmpdir(), 'mfd-demo-'));
  const closers = createClosers(complain);
  const owner: Owner = {
    teardown(close) {
      closers.add(close);
      if (ending.signal.aborted) throw new Error('the demo is ending');
    },
  };
  const running = start(owner, folder, hasPostgres)
    .then(async nodes => trickle(nodes, ending.signal))
    .catch(fail);
  await Promise.race([running, new Promise(resolve => ending.signal.addEventListener('abort', resolve))]);
  print('\nEnding …');
  await closers.closeAll();
  // Steps that were still starting fail because the rest is closed, or stop at their next check; what they started is closed by
  // the second call.
  await running;
  await closers.closeAll();
  await rm(folder, {recursive: true, force: true});
  return code;
};

const {values} = parseArgs({options: {postgres: {type: 'boolean', default: false}}});
process.exit(await demo(values.postgres));

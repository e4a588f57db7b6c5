// A node beside a Postfix with 10,000 mails on hold, and the same by Postfix's own programs, in alternation: npm run bench:postfix-list
// Needs Postfix, and root to start it.
import {spawn, spawnSync} from 'node:child_process';
import {readFile} from 'node:fs/promises';
import {setTimeout as delay} from 'node:timers/promises';
import type {ExecutionContext} from 'ava';
import type {MailReference} from '../../shared/held-mail.ts';
import {eventually} from '../helpers/eventually.ts';
import {postfixMissing} from '../helpers/postfix.ts';
import {holdEverything, type PostfixNode, startPostfixNode} from '../helpers/postfix-node.ts';
import {startScriptedServer} from '../helpers/scripted-server.ts';
import {sendMany} from '../helpers/send-many.ts';
import {quantilesOf} from './quantiles.ts';

const heldCount = 10_000;
const listRounds = 15;
const singleRounds = 30;
const bulkRounds = 3;
const bulkSize = 1000;
const idleSeconds = 30;

type Work = () => Promise<unknown>;

interface Backend {
  port: number;
  /** How many mails it has had. */
  delivered(): number;
}

const teardowns: (() => unknown)[] = [];
const context = {teardown: (end: () => unknown) => void teardowns.push(end)} as unknown as ExecutionContext;

const out = (line: string) => process.stdout.write(`${line}\n`);

const timed = async (work: Work): Promise<number> => {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
};

/** Medians of what is done in turn; the last one is the measure of the others. */
const compare = async (title: string, rounds: number, ways: [name: string, prepare: () => Promise<Work>][]): Promise<void> => {
  const times = ways.map((): number[] => []);
  for (let round = -1; round < rounds; round += 1)
    for (const [n, [, prepare]] of ways.entries()) {
      const took = await timed(await prepare());
      if (round >= 0) times[n]?.push(took);
    }
  const medians = times.map(all => quantilesOf(all).p50);
  const anchor = medians.at(-1) ?? Number.NaN;
  out(`\n${title} (${rounds} rounds)`);
  for (const [n, [name]] of ways.entries()) {
    const median = medians[n] ?? Number.NaN;
    out(`  ${name.padEnd(46)} ${median.toFixed(1).padStart(8)} ms   × ${(median / anchor).toFixed(2)}`);
  }
};

const shell = async (script: string): Promise<void> => {
  const child = spawn('/bin/sh', ['-c', script], {stdio: ['ignore', 'ignore', 'inherit']});
  const code = await new Promise(resolve => child.once('close', resolve));
  if (code !== 0) throw new Error(`${script}: exit ${code}`);
};

const call = async (node: PostfixNode, method: string, path: string, body?: object) => {
  const answer = await node.api(method, path, body && {body});
  if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${answer.body}`);
  return answer;
};

const total = async (node: PostfixNode): Promise<number> =>
  Number((await call(node, 'GET', 'mail/quarantine?limit=1')).headers['x-total-count']);

const fill = async (node: PostfixNode, from: number, count: number): Promise<void> =>
  sendMany({
    port: node.postfix.port,
    count,
    mail: n => ({
      to: `user${n % 1000}@example.com`,
      raw: `From: <ada@example.net>\r\nTo: <ben@example.com>\r\nSubject: Offer number ${from + n}\r\nMessage-Id: <${from + n}@example.net>\r\nDate: Sun, 1 Mar 2026 12:00:00 +0000\r\n\r\n${`${'x'.repeat(76)}\r\n`.repeat(26)}`,
    }),
  });

/** Of a process, and of those that it has started and that have ended; USER_HZ is 100. */
const cpuMs = async (pid: number): Promise<{own: number; children: number}> => {
  const fields = (await readFile(`/proc/${pid}/stat`, 'utf8')).split(') ')[1]?.split(' ') ?? [];
  const [utime = 0, stime = 0, cutime = 0, cstime = 0] = fields.slice(11, 15).map(Number);
  return {own: (utime + stime) * 10, children: (cutime + cstime) * 10};
};

const measureAdoption = async (node: PostfixNode): Promise<void> => {
  const adopted = await timed(async () => {
    await node.start();
    await eventually(async () => (await total(node)) === heldCount, 300_000);
  });
  const {own} = await cpuMs(node.pid());
  out(
    `${heldCount} unknown mails are in the list ${(adopted / 1000).toFixed(1)} s after the start; CPU ${(own / 1000).toFixed(1)} s`,
  );
};

const measureIdle = async (node: PostfixNode): Promise<void> => {
  const before = await cpuMs(node.pid());
  await delay(idleSeconds * 1000);
  const after = await cpuMs(node.pid());
  const share = (name: 'own' | 'children') => ((after[name] - before[name]) / idleSeconds / 10).toFixed(2);
  out(
    `nothing to do, a look every 10 s: ${share('own')} % of a CPU, and ${share('children')} % for postqueue (${idleSeconds} s)`,
  );
};

const measureLists = async (node: PostfixNode): Promise<void> => {
  const hasJq = spawnSync('jq', ['--version']).status === 0;
  const newest = `postqueue -c ${node.postfix.configDir} -j | jq -s 'sort_by(-.arrival_time) | .[:100]'`;
  await compare(`The newest 100 of ${heldCount}`, listRounds, [
    ['API', async () => async () => call(node, 'GET', 'mail/quarantine?limit=100')],
    [
      'mfctl quarantine list',
      async () => async () => {
        const {code, stderr} = await node.mfctl(['quarantine', 'list']);
        if (code !== 0) throw new Error(stderr);
      },
    ],
    ['postqueue -j', async () => async () => shell(`postqueue -c ${node.postfix.configDir} -j`)],
    ...(hasJq ? [['postqueue -j | jq', async () => async () => shell(newest)] satisfies [string, () => Promise<Work>]] : []),
  ]);
  if (!hasJq) out('  (postqueue -j | jq skipped: jq is not installed)');
};

/** Takes mail at once: the sink of the tests makes every connection wait for 100 ms. */
const startBackend = async (): Promise<Backend> => {
  let count = 0;
  const {server, lines} = await startScriptedServer(context, line => {
    if (line === '.') count += 1;
    if (line === 'QUIT') lines.length = 0;
    return undefined;
  });
  return {port: server.port, delivered: () => count};
};

const measureActions = async (node: PostfixNode, {delivered}: Backend): Promise<void> => {
  const mails: MailReference[] = [];
  const {postfix} = node;
  const ids = (some: MailReference[]) => some.map(({queue_id}) => `${queue_id}\n`).join('');
  const insist = async (program: string, args: string[], input?: string) => {
    const {code, stderr} = await postfix.command(program, args, input);
    if (code !== 0) throw new Error(`${program}: ${stderr}`);
  };
  const bulk = async (action: 'release' | 'discard', some: MailReference[]) => {
    const items = some.map(({node_id, queue_id}) => ({node_id, queue_id}));
    const {json} = await call(node, 'POST', `mail/quarantine/${action}`, {items});
    const failed = json.data.find(({error}: {error?: object}) => error);
    if (failed) throw new Error(JSON.stringify(failed));
  };
  const acting =
    (count: number, act: (some: MailReference[]) => Promise<unknown>, isDelivered = true) =>
    async (): Promise<Work> => {
      const some = mails.splice(0, count);
      const wanted = delivered() + (isDelivered ? count : 0);
      return async () => {
        await act(some);
        while (delivered() < wanted) await delay(1);
      };
    };

  mails.push(...(await newest(node, 1000)));
  await compare('One release until it is delivered', singleRounds, [
    ['API', acting(1, async ([mail]) => call(node, 'POST', `mail/quarantine/${mail?.node_id}/${mail?.queue_id}/release`))],
    [
      'postsuper -H, postqueue -i',
      acting(1, async some => {
        await insist('postsuper', ['-H', '-', 'hold'], ids(some));
        await insist('postqueue', ['-i', some[0]?.queue_id ?? '']);
      }),
    ],
  ]);
  mails.splice(0, mails.length, ...(await newest(node, heldCount)));
  await compare(`Discard of ${bulkSize} at once`, bulkRounds, [
    ['API', acting(bulkSize, async some => bulk('discard', some), false)],
    ['postsuper -d -', acting(bulkSize, async some => insist('postsuper', ['-d', '-', 'hold'], ids(some)), false)],
  ]);
  await fill(node, heldCount, heldCount);
  mails.splice(0, mails.length, ...(await newest(node, heldCount)));
  await compare(`Release of ${bulkSize} at once until all are delivered`, bulkRounds, [
    ['API', acting(bulkSize, async some => bulk('release', some))],
    [
      'postsuper -H -, postqueue -f',
      acting(bulkSize, async some => {
        await insist('postsuper', ['-H', '-', 'hold'], ids(some));
        await insist('postqueue', ['-f']);
      }),
    ],
  ]);
};

/** Once the list says of all that was done by hand. */
const newest = async (node: PostfixNode, count: number): Promise<MailReference[]> => {
  await eventually(async () => (await total(node)) === (await node.onHold()).length, 300_000);
  const mails: MailReference[] = [];
  for (let offset = 0; offset < count; offset += 1000)
    mails.push(...(await call(node, 'GET', `mail/quarantine?limit=1000&offset=${offset}`)).json.data);
  return mails;
};

try {
  const missing = postfixMissing();
  if (missing) throw new Error(missing);
  const backend = await startBackend();
  const settings = {
    ...holdEverything,
    in_flow_delay: '0',
    relay_transport: `relay:[127.0.0.1]:${backend.port}`,
    // Only what it is asked for is delivered.
    queue_run_delay: '300s',
    minimal_backoff_time: '300s',
    maximal_backoff_time: '300s',
  };
  const node = await startPostfixNode(context, {settings, reconcileSeconds: 10, config: {log: {level: 'warn'}}});
  await node.stop();
  const filling = await timed(async () => fill(node, 0, heldCount));
  out(`${heldCount} mails on hold in Postfix after ${(filling / 1000).toFixed(1)} s`);
  await measureAdoption(node);
  if (process.argv[2] !== 'actions') {
    await measureIdle(node);
    await measureLists(node);
  }
  await measureActions(node, backend);
} finally {
  for (const end of teardowns.reverse()) await end();
}

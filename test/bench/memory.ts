// Memory of an idle node, and the additional memory for a full hold queue.
import {closeSync, openSync} from 'node:fs';
import {cp, mkdir, readFile, rm} from 'node:fs/promises';
import {request} from 'node:https';
import {join} from 'node:path';
import {setTimeout as delay} from 'node:timers/promises';
import {fileURLToPath} from 'node:url';
import {startNode} from '../helpers/node.ts';
import {openTestStore} from '../helpers/store.ts';
import type {Bench, BenchContext} from './bench.ts';
import {fillStore, queueIdOf} from './held-store.ts';
import {type ServerProcess, startNodeProcess, startServerProcess} from './server-process.ts';

const requests = 10;
const bareKoaFile = fileURLToPath(new URL('anchors/bare-koa.js', import.meta.url));

export const memoryBench: Bench = {
  name: 'memory',
  rows: [
    {
      name: 'memory',
      title: 'idle memory of a node',
      anchor: 'bare Koa + knex + sqlite3',
      wanted: {atMost: 1.45},
      unit: '×',
    },
    {
      name: 'memory-million',
      title: 'the same with 1,000,000 held',
      anchor: 'our own with none',
      wanted: {atMost: 1.2},
      unit: '×',
    },
    {
      name: 'start-million-peak',
      title: 'the most memory of a start with 1,000,000 held, and soon after it',
      anchor: 'idle, with none held',
      wanted: {atMost: 2},
      unit: '×',
    },
    {name: 'start-million', title: 'that start until the node is ready', anchor: '', wanted: {atMost: 5000}, unit: 'ms'},
  ],
  seconds: 120,
  async run({isQuick, owner, isWanted, report, say}: BenchContext) {
    const node = await startNode(owner);
    await node.stop();
    // V8 frees the memory of the start after an idle period.
    const idleMs = isQuick ? 3000 : 25_000;
    const inData = (name: string) => join(node.data, name);
    const ask = async (url: string) => {
      for (let count = 0; count < requests; count += 1) await statusOf(url, node.api_key);
    };
    const own = async (data: string) => {
      const daemon = await startNodeProcess(owner, data, inData('mfd.log'));
      await ask(`${node.api_url}/api/v1/mail/quarantine?limit=100`);
      return daemon;
    };
    const bare = async () => {
      const files = [inData('tls/api.key'), inData('tls/api.crt'), bareKoaFile.replace('bare-koa.js', 'answer.json')];
      const started = await startServerProcess(owner, [bareKoaFile, ...files, inData('koa.db')], {
        log: inData('koa.log'),
        isReady: /^ready /,
      });
      await ask(started.ready.replace('ready ', ''));
      return started;
    };
    const memoryOf = async ({pid, end}: ServerProcess) => {
      const memory = await residentMiB(pid);
      await end();
      return memory;
    };

    const held = isQuick ? 20_000 : 1_000_000;
    const filled = `${node.data}-filled`;
    owner.teardown(async () => rm(filled, {recursive: true, force: true}));
    const isFilled = ['memory-million', 'start-million-peak', 'start-million'].some(isWanted);
    if (isFilled) await cp(node.data, filled, {recursive: true});
    const [idleNode, idleKoa] = [await own(node.data), await bare()];
    if (isFilled) {
      say(`filling the hold queue with ${held} mails`);
      await Promise.all([delay(idleMs), fill(filled, held)]);
    } else await delay(idleMs);
    const [idle, anchor] = [await memoryOf(idleNode), await memoryOf(idleKoa)];
    if (isWanted('memory')) report('memory', {value: idle / anchor, own: mib(idle), anchor: mib(anchor)});
    if (!isFilled) return;
    const started = performance.now();
    const fullNode = await own(filled);
    const readyMs = performance.now() - started;
    await delay(idleMs);
    const peak = await memoryMiB(fullNode.pid, 'VmHWM');
    const full = await memoryOf(fullNode);
    report('memory-million', {value: full / idle, own: `${mib(full)} with ${held}`, anchor: mib(idle)});
    report('start-million-peak', {value: peak / idle, own: mib(peak), anchor: mib(idle)});
    report('start-million', {value: readyMs, own: `${Math.round(readyMs)} ms, with ten lists of 100`});
  },
};

/** Rows and files: at a start the node looks for the file of each mail in the index, and does not read it. */
const fill = async (data: string, count: number): Promise<void> => {
  const store = await openTestStore(join(data, 'mfd.db'));
  // The data need not survive a power cut.
  await store.write.raw('PRAGMA synchronous = OFF');
  await store.write.raw('PRAGMA cache_size = -300000');
  await fillStore(store, {count, share: 0, of: 1, newestMs: Date.now()});
  await store.close();
  const folder = join(data, 'spool', 'held');
  await mkdir(folder, {recursive: true});
  for (let at = 0; at < count; at += 1) closeSync(openSync(join(folder, queueIdOf(at)), 'w', 0o600));
};

/** Its resident memory, including parts shared with other processes of the same program. */
export const residentMiB = async (pid: number): Promise<number> => memoryMiB(pid, 'VmRSS');

/** `VmHWM`: the most that it has had resident. */
const memoryMiB = async (pid: number, name: 'VmRSS' | 'VmHWM'): Promise<number> => {
  const kib = new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(await readFile(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(kib) / 1024;
};

export const mib = (memory: number): string => `${memory.toFixed(1)} MiB`;

const statusOf = async (url: string, key: string): Promise<number> =>
  new Promise((resolve, reject) => {
    const sent = request(url, {rejectUnauthorized: false, headers: {'X-API-Key': key}}, response => {
      response.resume().once('end', () => resolve(response.statusCode ?? 0));
    });
    sent.once('error', reject).end();
  });

// What a request costs that finds everything in memory: who asks, and whether they may.
import {execFile} from 'node:child_process';
import {writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {promisify} from 'node:util';
import {isInstalled} from '../helpers/installed.ts';
import {startNode} from '../helpers/node.ts';
import {alternate} from './alternate.ts';
import type {Bench, BenchContext} from './bench.ts';
import {quantilesOf} from './quantiles.ts';
import {startNodeProcess, startServerProcess} from './server-process.ts';

export const bareKoaFile = fileURLToPath(new URL('anchors/bare-koa.js', import.meta.url));

const connections = 16;

export const authBench: Bench = {
  name: 'auth',
  rows: [
    {
      name: 'auth-me',
      title: `GET /auth/me over HTTPS, wrk, ${connections} connections`,
      anchor: 'bare Koa, same body',
      wanted: {atLeast: 0.7},
      unit: '×',
    },
  ],
  seconds: 30,
  async run({isQuick, owner, report}: BenchContext) {
    if (!isInstalled('wrk')) return report('auth-me', {missing: 'wrk is not installed'});
    const node = await startNode(owner);
    const made = await node.api('POST', 'auth/api-keys', {
      body: {name: 'wrk', scope: 'full-admin', rate_limit_per_minute: 1_000_000},
    });
    const {key} = made.json.data;
    const {body} = await node.api('GET', 'auth/me', {key});
    await node.stop();
    const inData = (name: string) => join(node.data, name);
    await writeFile(inData('body.json'), body);
    await startNodeProcess(owner, node.data, inData('mfd.log'));
    const anchor = await startServerProcess(
      owner,
      [bareKoaFile, inData('tls/api.key'), inData('tls/api.crt'), inData('body.json')],
      {log: inData('koa.log'), isReady: /^ready /},
    );
    const anchorUrl = anchor.ready.replace('ready ', '');

    const seconds = isQuick ? 1 : 3;
    const rates = await alternate(
      {
        own: async () => requestsPerSecond(`${node.api_url}/api/v1/auth/me`, key, seconds),
        anchor: async () => requestsPerSecond(anchorUrl, key, seconds),
      },
      {rounds: isQuick ? 2 : 5},
    );

    const [own, other] = [quantilesOf(rates.own).p50, quantilesOf(rates.anchor).p50];
    report('auth-me', {value: own / other, own: `${Math.round(own)} req/s`, anchor: `${Math.round(other)} req/s`});
  },
};

const requestsPerSecond = async (url: string, key: string, seconds: number): Promise<number> => {
  const args = ['-t1', `-c${connections}`, `-d${seconds}s`, '-H', `X-API-Key: ${key}`, url];
  const {stdout} = await promisify(execFile)('wrk', args);
  const rate = Number(/^Requests\/sec:\s+([\d.]+)$/m.exec(stdout)?.[1]);
  if (!(rate > 0) || /Non-2xx|Socket errors/.test(stdout)) throw new Error(stdout);
  return rate;
};

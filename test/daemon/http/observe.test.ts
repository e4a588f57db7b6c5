import {createServer} from 'node:http';
import type {AddressInfo} from 'node:net';
import test from 'ava';
import Koa from 'koa';
import pino from 'pino';
import type {Metrics} from '../../../daemon/http/metrics.ts';
import {observe, type RequestState} from '../../../daemon/http/observe.ts';
import {eventually} from '../../helpers/eventually.ts';

test('metrics and a log that fail change no answer of the API, and do not end the process', async t => {
  const fail = () => {
    throw new Error('an observer fails');
  };
  const asked: string[] = [];
  const metrics = {httpRequest: fail} as unknown as Metrics;
  const app = new Koa<RequestState>();
  app.use(observe(metrics, pino({hooks: {logMethod: fail}})));
  app.use(async ctx => {
    asked.push(ctx.path);
    ctx.body = 'well';
  });
  const server = createServer(app.callback());
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => server.close());
  const ask = async (path: string) =>
    (await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`, {headers: {connection: 'close'}})).text();

  t.is(await ask('/one'), 'well');
  t.is(await ask('/two'), 'well');

  t.deepEqual(asked, ['/one', '/two']);
});

test('a request that goes well is logged at debug, one that is refused or fails at info', async t => {
  const lines: {level: number; path: string}[] = [];
  const app = new Koa<RequestState>();
  const metrics = {httpRequest: () => {}} as unknown as Metrics;
  app.use(observe(metrics, pino({level: 'debug'}, {write: line => void lines.push(JSON.parse(line))})));
  app.use(async ctx => {
    ctx.status = Number(ctx.path.slice(1));
  });
  const server = createServer(app.callback());
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => server.close());
  const {port} = server.address() as AddressInfo;

  for (const status of [200, 204, 403, 503])
    await fetch(`http://127.0.0.1:${port}/${status}`, {headers: {connection: 'close'}}).then(async answer => answer.text());
  await eventually(() => lines.length === 4);

  t.deepEqual(
    lines.map(({level, path}) => [path, pino.levels.labels[level]]),
    [
      ['/200', 'debug'],
      ['/204', 'debug'],
      ['/403', 'info'],
      ['/503', 'info'],
    ],
  );
});

// One of the bare nodes that lists are held against: a hundred rows in memory, asked for over HTTPS; it asks the other two over
// mutual TLS and merges. Told by its parent who it is; knows no keys, no filters and no database.
import {Agent, createServer, request} from 'node:https';
import type {AddressInfo} from 'node:net';
import Koa from 'koa';

export interface ListRow {
  node_id: string;
  queue_id: string;
  arrived_at: string;
}

export interface KoaListSettings {
  key: string;
  cert: string;
  ca: string;
  rows: ListRow[];
}

export type KoaListOrder = {settings: KoaListSettings} | {peers: number[]};

const listen = async (app: Koa, options: object): Promise<number> => {
  // Kept for as long as ours are, however long the others take their turn.
  const server = createServer({...options, keepAliveTimeout: 65_000}, app.callback());
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
};

const ask = async (agent: Agent, port: number): Promise<ListRow[]> =>
  new Promise((resolve, reject) => {
    const sent = request({host: '127.0.0.1', port, path: '/list', method: 'POST', agent}, response => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => resolve((JSON.parse(Buffer.concat(chunks).toString()) as {data: {mails: ListRow[]}}).data.mails));
    });
    sent.on('error', reject);
    sent.end();
  });

const newestFirst = (a: ListRow, b: ListRow): number =>
  a.arrived_at === b.arrived_at ? 0 : a.arrived_at > b.arrived_at ? -1 : 1;

const start = async ({key, cert, ca, rows}: KoaListSettings): Promise<{api: number; cluster: number}> => {
  const agent = new Agent({keepAlive: true, key, cert, ca, checkServerIdentity: () => undefined});
  const own = new Koa();
  own.use(ctx => {
    ctx.body = {data: {mails: rows, total: rows.length}, error: null, message: 'OK'};
  });
  const merged = new Koa();
  merged.use(async ctx => {
    const parts = await Promise.all(peers.map(async port => ask(agent, port)));
    ctx.body = {data: [rows, ...parts].flat().sort(newestFirst).slice(0, 100), error: null, message: 'OK'};
  });
  return {
    api: await listen(merged, {key, cert}),
    cluster: await listen(own, {key, cert, ca, requestCert: true, rejectUnauthorized: true}),
  };
};

let peers: number[] = [];
process.on('disconnect', () => process.exit());
process.on('message', async (order: KoaListOrder) => {
  if ('peers' in order) ({peers} = order);
  process.send?.('settings' in order ? await start(order.settings) : 'ready');
});

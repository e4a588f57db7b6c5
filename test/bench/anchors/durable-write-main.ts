// One of three processes that do only what a durable write on all of them requires: a row in SQLite (WAL, synchronous FULL), and
// the same row to the two others over mutual TLS. Forked by durable-write.ts.
import {Agent, createServer, request} from 'node:https';
import type {AddressInfo} from 'node:net';
import sqlite3 from 'sqlite3';

export interface Setting {
  file: string;
  key: string;
  cert: string;
}

interface Peers {
  ports: number[];
}

const parent = (message: object) => process.send?.(message);
const nextMessage = async <T>(): Promise<T> => new Promise(resolve => process.once('message', message => resolve(message as T)));

parent({is: 'up'});
const {file, key, cert} = await nextMessage<Setting>();
const database = new sqlite3.Database(file);
const run = async (sql: string, values: unknown[] = []): Promise<void> =>
  new Promise((resolve, reject) => database.run(sql, values, error => (error ? reject(error) : resolve())));
await run('PRAGMA journal_mode = WAL');
await run('PRAGMA synchronous = FULL');
await run('CREATE TABLE IF NOT EXISTS item (id TEXT PRIMARY KEY, value TEXT NOT NULL)');

const trust = {key, cert, ca: cert};
const agent = new Agent({...trust, keepAlive: true, checkServerIdentity: () => undefined});
const values = new Map<string, string>();
let peers: number[] = [];

const keep = async (id: string, value: string): Promise<void> => {
  await run('INSERT INTO item (id, value) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET value = excluded.value', [id, value]);
  values.set(id, value);
};

const tell = async (port: number, body: string): Promise<void> =>
  new Promise((resolve, reject) => {
    const headers = {'Content-Type': 'application/json', 'Content-Length': String(Buffer.byteLength(body))};
    const sent = request({host: '127.0.0.1', port, method: 'POST', path: '/api/v1/copy', agent, headers}, response => {
      response.resume();
      response.once('end', () => (response.statusCode === 200 ? resolve() : reject(new Error(`status ${response.statusCode}`))));
    });
    sent.once('socket', socket => socket.setNoDelay(true));
    sent.once('error', reject);
    sent.end(body);
  });

const server = createServer({...trust, requestCert: true, rejectUnauthorized: true}, (incoming, outgoing) => {
  const answer = (data: unknown) => {
    outgoing.writeHead(200, {'Content-Type': 'application/json'});
    outgoing.end(JSON.stringify({data}));
  };
  const [, , , what, id = ''] = (incoming.url ?? '').split('/');
  if (incoming.method === 'GET') {
    answer(values.get(id) ?? null);
    return;
  }
  const chunks: Buffer[] = [];
  incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
  incoming.on('end', async () => {
    const text = Buffer.concat(chunks).toString();
    const item = JSON.parse(text) as {id: string; value: string};
    await keep(item.id, item.value);
    if (what === 'item') await Promise.all(peers.map(async port => tell(port, text)));
    answer(item);
  });
});
server.listen(0, '127.0.0.1', async () => {
  parent({port: (server.address() as AddressInfo).port});
  ({ports: peers} = await nextMessage<Peers>());
  parent({is: 'ready'});
});

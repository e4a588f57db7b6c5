import {mkdtemp, rm} from 'node:fs/promises';
import {connect as connectSocket, type Socket} from 'node:net';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import test, {type ExecutionContext} from 'ava';
import {
  createNetstringReader,
  netstring,
  type SocketmapNeeds,
  startSocketmapServer,
  type TableAnswer,
} from '../../../../daemon/mail/socketmap/socketmap-server.ts';

interface Client {
  socket: Socket;
  /** Resolves with the next reply; rejects when the server closes before it. */
  next(): Promise<string>;
  closed: Promise<unknown>;
}

const connect = async (address: {path: string} | {port: number; host: string}): Promise<Client> => {
  const socket = connectSocket(address);
  const reader = createNetstringReader(100_000);
  const replies: string[] = [];
  const waiting: {resolve(reply: string): void; reject(error: Error): void}[] = [];
  socket.on('data', chunk => {
    for (const reply of reader.push(chunk)) {
      const first = waiting.shift();
      if (first) first.resolve(String(reply));
      else replies.push(String(reply));
    }
  });
  socket.on('error', () => undefined);
  const closed = new Promise(resolve => socket.once('close', resolve));
  void closed.then(() => {
    for (const {reject} of waiting) reject(new Error('closed'));
  });
  await new Promise(resolve => socket.once('connect', resolve));
  return {
    socket,
    closed,
    next: async () =>
      new Promise((resolve, reject) => {
        const reply = replies.shift();
        if (reply === undefined) waiting.push({resolve, reject});
        else resolve(reply);
      }),
  };
};

const start = async (t: ExecutionContext, needs: Partial<SocketmapNeeds> & Pick<SocketmapNeeds, 'lookUp'>) => {
  const failures: unknown[] = [];
  const listen = {host: '127.0.0.1', port: 0};
  const server = await startSocketmapServer({listen, onFailure: error => failures.push(error), ...needs});
  t.teardown(async () => server.stop(0));
  return {...server, failures, connect: async () => connect(server.address as {host: string; port: number})};
};

const echo = (table: string, key: string): TableAnswer => ({kind: 'found', value: `${table}|${key}`});

test('each answer has its word', async t => {
  const answers: Record<string, TableAnswer> = {
    a: {kind: 'found', value: 'relay:[192.0.2.1]:25'},
    b: {kind: 'absent'},
    c: {kind: 'unavailable', reason: 'later'},
    d: {kind: 'refused', reason: 'no such table'},
  };
  const server = await start(t, {lookUp: (_table, key) => answers[key] ?? {kind: 'absent'}});
  const client = await server.connect();

  for (const key of Object.keys(answers)) client.socket.write(netstring(`t ${key}`));

  for (const reply of ['OK relay:[192.0.2.1]:25', 'NOTFOUND ', 'TEMP later', 'PERM no such table'])
    t.is(await client.next(), reply);
});

test('many requests on one connection are answered in order, one at a time, whichever takes longest', async t => {
  let running = 0;
  const server = await start(t, {
    async lookUp(table, key) {
      running += 1;
      t.is(running, 1);
      await new Promise(resolve => setTimeout(resolve, key === '0' ? 50 : 0));
      running -= 1;
      return echo(table, key);
    },
  });
  const client = await server.connect();

  client.socket.write(Buffer.concat(Array.from({length: 20}, (_, n) => netstring(`t ${n}`))));

  for (let n = 0; n < 20; n += 1) t.is(await client.next(), `OK t|${n}`);
});

test('a key is all that follows the first space, and a request in pieces is put together', async t => {
  const server = await start(t, {lookUp: echo});
  const client = await server.connect();

  for (const byte of netstring('t "a  b"@bücher.example ')) {
    client.socket.write(Buffer.from([byte]));
    await new Promise(resolve => setImmediate(resolve));
  }

  t.is(await client.next(), 'OK t|"a  b"@bücher.example ');
});

test('a lookup that fails is answered TEMP, and the connection goes on', async t => {
  const server = await start(t, {
    lookUp(table, key) {
      if (key === 'bad') throw new Error('broken');
      return echo(table, key);
    },
  });
  const client = await server.connect();

  client.socket.write(Buffer.concat([netstring('t bad'), netstring('t good'), netstring('nothing')]));

  t.regex(await client.next(), /^TEMP /);
  t.is(await client.next(), 'OK t|good');
  t.regex(await client.next(), /^PERM /);
  t.regex(String(server.failures), /broken/);
});

test('a lookup that fails is answered also when the log fails', async t => {
  const lookUp = (): never => {
    throw new Error('broken');
  };
  const onFailure = (): never => {
    throw new Error('the log is full');
  };
  const server = await start(t, {lookUp, onFailure});
  const client = await server.connect();

  client.socket.write(netstring('t key'));

  t.regex(await client.next(), /^TEMP /);
});

test('who sends no netstrings is disconnected, and others are not', async t => {
  const server = await start(t, {lookUp: echo});
  const [good, ...bad] = [await server.connect(), await server.connect(), await server.connect()];

  bad[0]?.socket.write('get relay_domains example.com\n');
  bad[1]?.socket.write('100001:');

  for (const {closed} of bad) await closed;
  good.socket.write(netstring(`t ${'x'.repeat(99_000)}`));
  t.is((await good.next()).length, 99_005);
});

test('who reads no answers is not read from', async t => {
  let lookups = 0;
  const value = 'x'.repeat(90_000);
  const server = await start(t, {
    lookUp() {
      lookups += 1;
      return {kind: 'found', value};
    },
  });
  const client = await server.connect();
  client.socket.pause();
  const requests = Buffer.concat(Array.from({length: 1000}, () => netstring('t key')));

  client.socket.write(requests);
  for (let before = -1; before !== lookups; ) {
    before = lookups;
    await new Promise(resolve => setTimeout(resolve, 100));
  }

  t.true(lookups < 1000, String(lookups));
  client.socket.resume();
  for (let n = 0; n < 1000; n += 1) t.is(await client.next(), `OK ${value}`);
});

test('who is idle, and who is one too many, is disconnected', async t => {
  const server = await start(t, {lookUp: echo, idleMs: 100, maxConnections: 1});

  const [first, second] = [await server.connect(), await server.connect()];

  await second.closed;
  await first.closed;
  t.pass();
});

test('what was asked is answered before the server stops, and the socket is gone then', async t => {
  const folder = await mkdtemp(join(tmpdir(), 'mfd-socketmap-'));
  t.teardown(async () => rm(folder, {recursive: true}));
  const path = join(folder, 'socketmap.sock');
  const asked: (() => void)[] = [];
  const server = await start(t, {
    listen: {path},
    lookUp: async (table, key) => new Promise(resolve => asked.push(() => resolve(echo(table, key)))),
  });
  const [idle, busy, ignored] = [await connect({path}), await connect({path}), await connect({path})];
  busy.socket.write(netstring('t key'));
  ignored.socket.write(netstring('t other'));
  while (asked.length < 2) await new Promise(resolve => setTimeout(resolve, 5));

  const stopped = server.stop(300);
  await idle.closed;
  asked[0]?.();

  t.is(await busy.next(), 'OK t|key');
  await Promise.all([busy.closed, stopped, t.throwsAsync(ignored.next())]);
  await t.throwsAsync(rm(path), {code: 'ENOENT'});
});

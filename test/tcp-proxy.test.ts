// Tests of the TCP proxy between nodes: it must fail in exactly the requested way, or the tests that use it prove nothing.
import {once} from 'node:events';
import {connect, createServer, type Socket} from 'node:net';
import {setTimeout as delay} from 'node:timers/promises';
import test, {type ExecutionContext} from 'ava';
import {eventually} from './helpers/eventually.ts';
import {listening} from './helpers/listening.ts';
import {startProxy} from './helpers/tcp-proxy.ts';

/** An echo server behind a proxy. */
const arrange = async (t: ExecutionContext) => {
  const accepted: Socket[] = [];
  const heard: string[] = [];
  const server = createServer(socket => {
    accepted.push(socket);
    socket.on('error', () => undefined);
    socket.on('data', chunk => {
      heard.push(chunk.toString());
      socket.write(chunk);
    });
  });
  const port = await listening(t, server);
  const proxy = await startProxy(t, () => ({host: '127.0.0.1', port}));
  return {proxy, heard, accepted};
};

const open = (t: ExecutionContext, port: number) => {
  const socket = connect({port, host: '127.0.0.1'});
  t.teardown(() => socket.destroy());
  let text = '';
  let failure: string | undefined;
  socket.on('data', chunk => {
    text += chunk.toString();
  });
  socket.on('error', (error: NodeJS.ErrnoException) => {
    failure = error.code;
  });
  const closed = new Promise<string>(resolve => socket.once('close', () => resolve(failure ?? 'closed')));
  return {socket, closed, text: () => text, got: async (wanted: string) => eventually(() => text === wanted)};
};

/** A connection that has carried a first letter, both ways. */
const openCarrying = async (t: ExecutionContext) => {
  const all = await arrange(t);
  const end = open(t, all.proxy.port);
  end.socket.write('a');
  await end.got('a');
  return {...all, ...end};
};

test('what goes in comes out, both ways and in order, and is counted', async t => {
  const {proxy} = await arrange(t);
  const {socket, got} = open(t, proxy.port);

  for (let n = 0; n < 100; n += 1) socket.write(`${n % 10}`);

  await t.notThrowsAsync(got('0123456789'.repeat(10)));
  t.like(proxy.counts, {connections: 1, open: 1, requests: 100, answers: 100});
});

test('an end comes through as an end', async t => {
  const {proxy, accepted, socket, closed} = await openCarrying(t);

  socket.end();

  t.is(await closed, 'closed');
  await t.notThrowsAsync(eventually(() => accepted[0]?.destroyed && proxy.counts.open === 0));
});

test('a line that refuses closes what is open and what is new, and works again afterwards', async t => {
  const {proxy, heard, ...before} = await openCarrying(t);

  proxy.setMode('refuse');

  await before.closed;
  await open(t, proxy.port).closed;
  t.deepEqual(heard, ['a']);
  proxy.setMode('pass');
  const after = open(t, proxy.port);
  after.socket.write('b');
  await t.notThrowsAsync(after.got('b'));
});

test('a black hole takes everything and gives nothing; what was in it is gone when it is mended', async t => {
  const {proxy, heard, ...before} = await openCarrying(t);

  proxy.setMode('blackhole');
  const within = open(t, proxy.port);
  before.socket.write('b');
  within.socket.write('c');
  await eventually(() => proxy.counts.requests === 3);
  await delay(50);

  t.false(before.socket.closed);
  t.false(within.socket.closed);
  t.deepEqual(heard, ['a']);
  proxy.setMode('pass');
  await before.closed;
  await within.closed;
  t.deepEqual(heard, ['a']);
});

test('a black hole does not tell one end that the other has gone', async t => {
  const {proxy, accepted, socket} = await openCarrying(t);

  proxy.setMode('blackhole');
  socket.destroy();
  await delay(50);

  t.false(accepted[0]?.readableEnded);
  t.false(accepted[0]?.destroyed);
});

test('answers can be lost where requests are heard', async t => {
  const {proxy, heard, socket, text, closed} = await openCarrying(t);

  proxy.setMode('drop-answers');
  socket.write('b');
  await eventually(() => heard.length === 2);
  await eventually(() => proxy.counts.answers === 2);

  t.is(text(), 'a');
  proxy.setMode('pass');
  await closed;
  t.is(text(), 'a');
});

test('requests can be lost where answers are heard', async t => {
  const {proxy, heard, accepted, socket, got} = await openCarrying(t);

  proxy.setMode('drop-requests');
  socket.write('b');
  await eventually(() => proxy.counts.requests === 2);
  accepted[0]?.write('c');

  await t.notThrowsAsync(got('ac'));
  t.deepEqual(heard, ['a']);
});

test('a delay comes on top of each way, and keeps the order', async t => {
  const {proxy} = await arrange(t);
  const {socket, got} = open(t, proxy.port);
  proxy.delay(100);
  const began = performance.now();

  socket.write('a');
  await eventually(() => proxy.counts.requests === 1);
  proxy.delay(0);
  socket.write('b');

  await got('ab');
  t.true(performance.now() - began >= 95);
});

test('a throttled line takes its time', async t => {
  const {proxy} = await arrange(t);
  const {socket, got} = open(t, proxy.port);
  proxy.throttle(10_000);
  const began = performance.now();

  socket.write('a'.repeat(2000));

  await got('a'.repeat(2000));
  t.true(performance.now() - began >= 195);
});

test('a reset is seen as one at both ends', async t => {
  const {proxy, accepted, closed} = await openCarrying(t);
  const far = once(accepted[0] as Socket, 'error');

  proxy.reset();

  t.is(await closed, 'ECONNRESET');
  const [error] = await far;
  t.is((error as NodeJS.ErrnoException).code, 'ECONNRESET');
});

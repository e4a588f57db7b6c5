import {readdir} from 'node:fs/promises';
import {Agent, get} from 'node:https';
import {connect, type Socket} from 'node:net';
import {setTimeout as wait} from 'node:timers/promises';
import {connect as connectTls} from 'node:tls';
import test, {type ExecutionContext} from 'ava';
import {listenHttp, listenHttps} from '../../../daemon/node/listen.ts';
import {selfSigned} from '../../helpers/certificate.ts';
import {eventually} from '../../helpers/eventually.ts';
import {pause} from '../../helpers/pause.ts';

const arrange = async (t: ExecutionContext) => {
  const pair = await selfSigned('localhost');
  const answers: (() => void)[] = [];
  const listener = await listenHttps({host: '127.0.0.1', port: 0}, pair, (_request, response) => {
    answers.push(() => response.end('done'));
  });
  t.teardown(async () => listener.stop(0));
  const {port} = listener.address;
  const agent = new Agent({keepAlive: true});
  t.teardown(() => agent.destroy());
  const sockets: Socket[] = [];
  t.teardown(() => {
    for (const socket of sockets) socket.destroy();
  });
  const dial = (open: () => Socket) => {
    const socket = open().on('error', () => {});
    sockets.push(socket);
    return new Promise<void>(resolve => socket.once('close', resolve));
  };
  return {
    listener,
    answers,
    /** These resolve once the listener has closed the connection. */
    bare: async () => dial(() => connect(port, '127.0.0.1')),
    encrypted: async () => dial(() => connectTls({port, host: '127.0.0.1', rejectUnauthorized: false})),
    request: async () =>
      new Promise<{status: number | undefined; connection: string | undefined}>((resolve, reject) => {
        get({port, host: '127.0.0.1', agent, rejectUnauthorized: false}, response => {
          const {statusCode: status, headers} = response;
          response.resume().on('end', () => resolve({status, connection: headers.connection}));
        }).on('error', reject);
      }),
  };
};

const openFiles = async () => (await readdir('/proc/self/fd')).length;

test.serial('connections on which no TLS handshake comes are closed on both sides', async t => {
  const {bare} = await arrange(t);
  const before = await openFiles();

  await Promise.all(Array.from({length: 20}, bare));

  t.true(await eventually(async () => (await openFiles()) <= before));
});

test.serial('stopping waits for the request under way, and for no connection without one', async t => {
  const {listener, answers, bare, encrypted, request} = await arrange(t);
  const idle = [bare(), encrypted()];
  const answered = request();
  while (answers.length === 0) await wait(20);

  const stopped = listener.stop(60_000);
  await Promise.all(idle);
  answers[0]?.();

  const {status, connection} = await answered;
  t.is(status, 200);
  t.is(connection, 'close');
  await stopped;
});

test.serial('when the grace is over, everything is closed', async t => {
  const {listener, answers, bare, request} = await arrange(t);
  const idle = bare();
  const answered = request();
  while (answers.length === 0) await wait(20);

  await listener.stop(0);

  await t.throwsAsync(answered);
  await idle;
});

test('a target that is a URL is one for its path, and one that nobody can read never comes to the handler', async t => {
  const seen: string[] = [];
  const listener = await listenHttp({host: '127.0.0.1', port: 0}, (request, response) => {
    seen.push(request.url ?? '');
    response.end('done');
  });
  t.teardown(async () => listener.stop(0));
  const statusOf = async (target: string) =>
    new Promise<string>(resolve => {
      const socket = connect(listener.address.port, '127.0.0.1');
      socket.on('data', chunk => resolve(String(chunk).slice(9, 12)));
      socket.end(`GET ${target} HTTP/1.1\r\nHost: a.test\r\n\r\n`, 'latin1');
    });

  for (const target of ['/a?b=%C3%BC', '//a@b/', '*', 'http://a.test/b?c', 'HTTPS://a.test:1/b'])
    t.is(await statusOf(target), '200');
  for (const target of ['http://[::1/a', 'http://a.test:99999999/', 'ftp://a.test/b', '/a#b', '//a@[#b', '/\u00fc', 'a'])
    t.is(await statusOf(target), '400', target);

  t.deepEqual(seen, ['/a?b=%C3%BC', '//a@b/', '*', '/b?c', '/b']);
});

const requestOf = (target: string) => `GET ${target} HTTP/1.1\r\nHost: a.test\r\n\r\n`;

test('requests that were sent ahead are answered one by one, and never begun when their connection ends before', async t => {
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  const listener = await listenHttp({host: '127.0.0.1', port: 0}, (request, response) => {
    begun.push(request.url ?? '');
    ends.push(() => response.end('done'));
  });
  t.teardown(async () => listener.stop(0));
  const socket = connect(listener.address.port, '127.0.0.1').on('error', () => {});

  socket.write(['/a', '/b', '/c'].map(requestOf).join(''));
  await eventually(() => begun.length > 0);
  await pause(100);
  t.deepEqual(begun, ['/a']);
  ends[0]?.();
  await eventually(() => begun.length > 1);
  socket.destroy();
  await pause(100);
  ends[1]?.();
  await pause(100);

  t.deepEqual(begun, ['/a', '/b']);
});

test('whoever sends any number of requests ahead is cut off, and nobody else', async t => {
  let begun = 0;
  const listener = await listenHttp({host: '127.0.0.1', port: 0}, () => {
    begun += 1;
  });
  t.teardown(async () => listener.stop(0));
  const ahead = (count: number) => {
    const socket = connect(listener.address.port, '127.0.0.1').on('error', () => {});
    t.teardown(() => socket.destroy());
    socket.write(requestOf('/').repeat(count));
    return socket;
  };

  const [some, many] = [ahead(100), ahead(101)];
  await eventually(() => many.closed);
  await pause(100);

  t.false(some.closed);
  t.true(begun <= 2);
});

import {subscribe, unsubscribe} from 'node:diagnostics_channel';
import {once} from 'node:events';
import {createServer} from 'node:http';
import {createServer as createTlsServer} from 'node:https';
import {createServer as createTcpServer, type Server, type Socket} from 'node:net';
import {text} from 'node:stream/consumers';
import {setTimeout as delay} from 'node:timers/promises';
import test, {type ExecutionContext} from 'ava';
import {createNetworkSet} from '../../../daemon/mail/networks.ts';
import {addressesInHosts, resolveName} from '../../../daemon/webhooks/judged-lookup.ts';
import {createWebhookTransport} from '../../../daemon/webhooks/post.ts';
import {selfSigned} from '../../helpers/certificate.ts';
import {eventually} from '../../helpers/eventually.ts';
import {listening} from '../../helpers/listening.ts';

const loopback = createNetworkSet(['127.0.0.1']);
const none = createNetworkSet([]);
const limits = {answerMs: 10_000, readMs: 1000, readBytes: 16_384};

type Needs = Partial<Parameters<typeof createWebhookTransport>[0]>;

const open = (t: ExecutionContext, needs: Needs = {}) => {
  const {post, close} = createWebhookTransport({networks: () => loopback, limits, ...needs}).open();
  t.teardown(close);
  return async (url: string, headers: Record<string, string> = {}) =>
    post({url, headers, body: '{}', signal: new AbortController().signal});
};

/** Counts connections. */
const serve = async (t: ExecutionContext, server: Server) => {
  const seen = {connections: 0, port: await listening(t, server)};
  server.on('connection', () => {
    seen.connections += 1;
  });
  return seen;
};

test('what is posted arrives, and a connection serves several requests', async t => {
  const bodies: string[] = [];
  const server = createServer(async (request, response) => {
    bodies.push(`${request.method} ${request.url} ${request.headers['webhook-id']} ${await text(request)}`);
    response.writeHead(200).end('taken');
  });
  const seen = await serve(t, server);
  const post = open(t);

  const result = await post(`http://127.0.0.1:${seen.port}/hook?a=1`, {'webhook-id': 'x'});
  for (let left = 20; left > 0; left -= 1) await post(`http://127.0.0.1:${seen.port}/hook?a=1`, {'webhook-id': 'y'});

  t.like(result, {status: 200, error: null});
  t.deepEqual(bodies, ['POST /hook?a=1 x {}', ...Array<string>(20).fill('POST /hook?a=1 y {}')]);
  t.true(seen.connections <= 2, String(seen.connections));
});

test('plain HTTP reaches no address outside the networks that are allowed, in whatever form it is written', async t => {
  const seen = await serve(
    t,
    createServer((_request, response) => void response.end()),
  );
  const post = open(t, {networks: () => none});

  for (const host of [
    '127.0.0.1',
    'localhost',
    '2130706433',
    '0x7f.1',
    '0177.0.0.1',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
    '[::1]',
    '0.0.0.0',
  ])
    t.regex((await post(`http://${host}:${seen.port}/`)).error ?? '', /is not in webhooks\.allow_networks$/, host);
  t.is(seen.connections, 0);
});

test('HTTPS reaches no private address outside the networks that are allowed', async t => {
  const seen = await serve(t, createTcpServer());
  const resolve = async (name: string) =>
    name === 'mixed.test' ? ['10.0.0.1', '::ffff:127.0.0.1', 'fe80::1', '64:ff9b::7f00:1'] : ['127.0.0.1'];
  const post = open(t, {networks: () => none, resolve});

  for (const host of ['127.0.0.1', '[::ffff:127.0.0.1]', '[::1]', '[fd00::1]', '169.254.169.254', 'mixed.test', 'one.test'])
    t.regex(
      (await post(`https://${host}:${seen.port}/`)).error ?? '',
      /is not a public address, and not in webhooks\.allow_networks$/,
      host,
    );
  t.is(seen.connections, 0);
});

test('an IPv4 address in IPv6 is reached where its network is allowed', async t => {
  const {port} = await serve(
    t,
    createServer((_request, response) => void response.end()),
  );
  const post = open(t);

  t.like(await post(`http://[::ffff:127.0.0.1]:${port}/`), {status: 200});
});

test('the address that a name resolves to is judged at each connection, and is the one that is connected to', async t => {
  const seen = await serve(
    t,
    createServer((_request, response) => void response.writeHead(200, {connection: 'close'}).end()),
  );
  const answers = [['127.0.0.1'], ['127.0.0.2'], ['127.0.0.2', '127.0.0.1']];
  let asked = 0;
  const resolve = async () => {
    asked += 1;
    return answers[asked - 1] ?? [];
  };
  const post = open(t, {resolve});
  const url = `http://hooks.test:${seen.port}/`;

  t.like(await post(url), {status: 200});
  t.is((await post(url)).error, '127.0.0.2 is not in webhooks.allow_networks');
  // Of several addresses those that are allowed are tried.
  t.like(await post(url), {status: 200});
  t.is((await post(url)).error, 'the name has no address');
  t.is(asked, 4, 'each was resolved once');
  t.is(seen.connections, 2);
});

test('a redirect is not followed', async t => {
  const inside = await serve(
    t,
    createServer((_request, response) => void response.end()),
  );
  const location = `http://127.0.0.1:${inside.port}/`;
  const {port} = await serve(
    t,
    createServer((_request, response) => void response.writeHead(307, {location}).end()),
  );

  const result = await open(t)(`http://127.0.0.1:${port}/`);

  t.like(result, {status: 307, error: 'it answered 307; redirects are not followed'});
  t.is(inside.connections, 0);
});

test('a receiver that hangs, or sends its header byte by byte, is given up after a while', async t => {
  const drip = createTcpServer(socket => {
    socket.on('error', () => {});
    socket.write('HTTP/1.1 200 OK\r\nx: ');
    const timer = setInterval(() => socket.write('a'), 20);
    socket.once('close', () => clearInterval(timer));
  });
  const post = open(t, {limits: {...limits, answerMs: 300}});

  for (const server of [createTcpServer(), drip]) {
    const {port} = await serve(t, server);
    t.like(await post(`http://127.0.0.1:${port}/`), {status: null, error: 'no answer within 0.3 s'});
  }
});

test('an answer without end counts by its status, and ends its connection', async t => {
  const closed: Promise<unknown>[] = [];
  const endless = createServer((_request, response) => {
    closed.push(once(response, 'close'));
    const more = () => {
      while (response.write(Buffer.alloc(65_536)));
      response.once('drain', more);
    };
    more();
  });
  const slow = createServer((_request, response) => {
    closed.push(once(response, 'close'));
    response.writeHead(503, {'retry-after': '120'}).flushHeaders();
  });
  const post = open(t, {limits: {...limits, readMs: 100}});

  t.like(await post(`http://127.0.0.1:${(await serve(t, endless)).port}/`), {status: 200, error: null});
  t.like(await post(`http://127.0.0.1:${(await serve(t, slow)).port}/`), {status: 503, retryAfterMs: 120_000});
  await Promise.all(closed);
  t.is(closed.length, 2);
});

/** Sends one text over and over, after the first bytes of a request. */
const flood = (first: string, more: string): Server =>
  createTcpServer(socket => {
    const go = () => {
      while (socket.writable && socket.write(more));
      socket.once('drain', go);
    };
    socket.on('error', () => {});
    socket.once('data', () => {
      socket.write(first);
      go();
    });
  });

test('interim answers without end are no answer, and some are passed over', async t => {
  const interim = 'HTTP/1.1 103 Early Hints\r\n\r\n';
  const {port} = await serve(t, flood(interim, interim.repeat(1000)));
  const few = await serve(
    t,
    createServer((_request, response) => {
      for (let left = 5; left > 0; left -= 1) response.writeProcessing();
      response.end();
    }),
  );
  const post = open(t);

  t.like(await post(`http://127.0.0.1:${port}/`), {status: null, error: 'its answer is not HTTP/1.1'});
  t.like(await post(`http://127.0.0.1:${few.port}/`), {status: 200});
});

test('of a header or trailer without end a few kilobytes are read', async t => {
  const fields = 'field: value\r\n'.repeat(5000);
  const {port: header} = await serve(t, flood('HTTP/1.1 200 OK\r\n', fields));
  const {port: trailer} = await serve(t, flood('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n', fields));
  let bytes = 0;
  const onConnected = (message: unknown) => {
    const {socket} = message as {socket: Socket};
    if (![header, trailer].includes(socket.remotePort ?? 0)) return;
    const read = socket.read;
    socket.read = () => {
      const piece = read.call(socket);
      bytes += piece?.length ?? 0;
      return piece;
    };
  };
  subscribe('undici:client:connected', onConnected);
  t.teardown(() => unsubscribe('undici:client:connected', onConnected));
  const post = open(t);

  t.like(await post(`http://127.0.0.1:${header}/`), {status: null, error: 'the request failed: UND_ERR_HEADERS_OVERFLOW'});
  t.like(await post(`http://127.0.0.1:${trailer}/`), {status: 200});

  t.true(bytes > 16_000 && bytes < 40_000, String(bytes));
});

test('Retry-After counts with 429 and 503, in seconds or as a time', async t => {
  const statuses = [429, 503, 500, 429];
  const {port} = await serve(
    t,
    createServer((_request, response) => {
      const value = statuses.length === 1 ? new Date(Date.now() + 3_600_000).toUTCString() : '60';
      response.writeHead(statuses.shift() ?? 200, {'retry-after': value}).end();
    }),
  );
  const post = open(t);
  const results = [];

  for (let left = 4; left > 0; left -= 1) results.push((await post(`http://127.0.0.1:${port}/`)).retryAfterMs);

  t.deepEqual(results.slice(0, 3), [60_000, 60_000, undefined]);
  t.true((results[3] ?? 0) > 3_500_000);
});

test('HTTPS wants a certificate of a known authority for the name, and says nothing of what it got', async t => {
  const ours = await selfSigned('hooks.test');
  const others = await selfSigned('PRIVATE.test');
  const resolve = async () => ['127.0.0.1'];
  const served = async (pair: {key: string; cert: string}) =>
    serve(
      t,
      createTlsServer(pair, (_request, response) => void response.writeHead(204).end()),
    );
  const [{port}, {port: othersPort}] = [await served(ours), await served(others)];

  t.like(await open(t, {resolve, ca: ours.cert})(`https://hooks.test:${port}/`), {status: 204, error: null});
  t.is((await open(t, {resolve})(`https://hooks.test:${port}/`)).error, 'the request failed: DEPTH_ZERO_SELF_SIGNED_CERT');
  t.is(
    (await open(t, {resolve, ca: others.cert})(`https://hooks.test:${othersPort}/`)).error,
    'the request failed: ERR_TLS_CERT_ALTNAME_INVALID',
  );
  process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
  t.teardown(() => delete process.env.NODE_TLS_REJECT_UNAUTHORIZED);
  t.is((await open(t, {resolve})(`https://hooks.test:${port}/`)).error, 'the request failed: DEPTH_ZERO_SELF_SIGNED_CERT');
});

test('an error has nothing of the path or the answer', async t => {
  const {port} = await serve(
    t,
    createTcpServer(socket => {
      socket.on('error', () => {});
      socket.once('data', () => socket.end('PRIVATE answer\r\n\r\n'));
    }),
  );
  const free = await serve(t, createTcpServer());
  const post = open(t);

  const results = [await post(`http://127.0.0.1:${port}/PRIVATE?key=PRIVATE`), await post('http://127.0.0.1:1/PRIVATE')];

  t.deepEqual(
    results.map(({status}) => status),
    [null, null],
  );
  t.is(results[1]?.error, 'the connection was refused');
  t.notRegex(JSON.stringify(results), /PRIVATE/);
  t.is(free.connections, 0);
});

test('a connection that is kept does not outlive the setting that allowed it', async t => {
  const seen = await serve(
    t,
    createServer((_request, response) => void response.end()),
  );
  let networks = loopback;
  const post = open(t, {networks: () => networks});
  const url = `http://127.0.0.1:${seen.port}/`;
  const named = `http://hooks.test:${seen.port}/`;
  const byName = open(t, {networks: () => networks, resolve: async () => ['127.0.0.1']});
  t.like(await post(url), {status: 200});
  t.like(await byName(named), {status: 200});

  networks = none;

  for (const result of [await post(url), await byName(named)]) t.is(result.error, '127.0.0.1 is not in webhooks.allow_networks');
  networks = createNetworkSet(['127.0.0.0/8']);
  t.like(await byName(named), {status: 200});
  t.is(seen.connections, 3);
});

test('at most eight connections are open at once, and a request that is ended ends at once', async t => {
  const seen = await serve(t, createTcpServer());
  const {post, close} = createWebhookTransport({networks: () => loopback, limits}).open();
  t.teardown(close);
  const ends = Array.from({length: 20}, () => new AbortController());

  const results = ends.map(async ({signal}) => post({url: `http://127.0.0.1:${seen.port}/`, headers: {}, body: '', signal}));
  await eventually(() => seen.connections >= 8);
  await delay(200);
  t.is(seen.connections, 8);
  for (const end of ends) end.abort();

  t.true((await Promise.all(results)).every(({status}) => status === null));
});

test('names in /etc/hosts are resolved without DNS', async t => {
  const hosts =
    '# 10.0.0.9 hooks.test\n10.0.0.1\tHooks.test hooks # relay.test\nfd00::1 relay.test hooks.test\nbroken hooks.test\n';

  t.deepEqual(addressesInHosts(hosts, 'hooks.test'), ['10.0.0.1', 'fd00::1']);
  t.deepEqual(addressesInHosts(hosts, 'relay.test.'), ['fd00::1']);
  t.deepEqual(addressesInHosts(hosts, 'other.test'), []);
  t.true((await resolveName('localhost')).includes('127.0.0.1'));
});

import type {IncomingMessage, ServerResponse} from 'node:http';
import {createServer} from 'node:https';
import test, {type ExecutionContext} from 'ava';
import {z} from 'zod';
import {createAuthority, issueLeaf} from '../../../daemon/cluster/certificates.ts';
import {createPeerClient, type PeerClient} from '../../../daemon/cluster/peer-client.ts';
import {identityUris} from '../../../daemon/cluster/peer-identity.ts';
import {success} from '../../../shared/envelope.ts';
import {Fault} from '../../../shared/fault.ts';
import {eventually} from '../../helpers/eventually.ts';
import {listening} from '../../helpers/listening.ts';
import {useMovedClock} from '../../helpers/moved-clock.ts';
import {startProxy, type TcpProxy} from '../../helpers/tcp-proxy.ts';

const peer = {nodeId: 'beta', nodeNo: 2};

type Limits = NonNullable<Parameters<typeof createPeerClient>[0]['limits']>;

/** One connection for each purpose. */
const single: Limits = {maxSockets: {own: 1, callers: 1, mails: 1}, pace: {graceMs: 60_000, bytesPerSecond: 1000}};

/** A peer that handles each request with the next of `handlers`. */
const startPeer = async (
  t: ExecutionContext,
  handlers: ((answer: ServerResponse, request: IncomingMessage, stop: () => void) => void)[],
  {
    issuedAtMs = Date.now(),
    limits,
    rejectUnauthorized = true,
  }: {issuedAtMs?: number; limits?: Limits; rejectUnauthorized?: boolean} = {},
): Promise<{client: PeerClient; line: TcpProxy; connections(): number}> => {
  const authority = await createAuthority(Date.now());
  const leaf = async (identity: typeof peer, nowMs = Date.now()) =>
    issueLeaf(authority, {commonName: identity.nodeId, hosts: ['localhost'], uris: identityUris(identity)}, nowMs);
  let connections = 0;
  const demands = {ca: authority.cert, requestCert: true, rejectUnauthorized};
  const server = createServer({...(await leaf(peer)), ...demands}, (request, response) => {
    request.resume();
    request.once('end', () => handlers.shift()?.(response, request, () => server.close()));
  });
  server.on('secureConnection', () => {
    connections += 1;
  });
  const port = await listening(t, server);
  const line = await startProxy(t, () => ({host: '127.0.0.1', port}));
  const client = createPeerClient({
    peer,
    address: () => ({host: '127.0.0.1', port: line.port}),
    credentials: {...(await leaf({nodeId: 'alpha', nodeNo: 1}, issuedAtMs)), ca: authority.cert},
    ...(limits && {limits}),
  });
  t.teardown(client.close);
  return {client, line, connections: () => connections};
};

const answer = (response: ServerResponse) => response.end(JSON.stringify(success('done')));
const ask = async (client: PeerClient, isForCaller = false, deadlineMs = 10_000) =>
  client.ask(z.string(), {method: 'POST', path: 'x', body: {}, deadlineMs, isForCaller});
const mail = async (client: PeerClient, deadlineMs = 10_000) =>
  client.stream({method: 'POST', path: 'x', body: {}, deadlineMs, isForCaller: true});
const sendMail = (response: ServerResponse) => response.end(Buffer.alloc(8 * 1024 * 1024));
const codeOf = async (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'done',
    error => (error instanceof Fault ? error.code : String(error)),
  );

test('a kept-alive connection that the peer has given up is no sign of anything: the request goes over another one', async t => {
  const {client, connections} = await startPeer(t, [answer, (_response, {socket}) => socket.destroy(), answer]);

  t.is(await ask(client), 'done');
  t.is(await ask(client), 'done');
  t.is(connections(), 2);
});

test('a request that broke off at a node which is gone since may have been heard: nobody says that nothing was done', async t => {
  const {client} = await startPeer(t, [
    answer,
    (_response, {socket}, stop) => {
      stop();
      socket.destroy();
    },
  ]);
  t.is(await ask(client), 'done');

  t.is(await codeOf(ask(client)), 'outcome_unknown');

  t.is(await codeOf(ask(client)), 'node_unreachable', 'and this one cannot have been');
});

/** Several kept connections, as in a bulk action. */
const keepThree = async (client: PeerClient) => Promise.all([1, 2, 3].map(async () => ask(client, true)));
const announced = async (client: PeerClient, deadlineMs = 10_000) =>
  client.ask(z.string(), {method: 'POST', path: 'act', body: {}, deadlineMs, isForCaller: true, isAnnounced: true});

test('a request that is announced is sent once, over a connection that is kept or a new one, and may take its time', async t => {
  const paths: (string | undefined)[] = [];
  const slow = (response: ServerResponse, {url}: IncomingMessage) => {
    paths.push(url);
    setTimeout(() => answer(response), 2000);
  };
  const {client, connections} = await startPeer(t, [slow, slow]);

  t.is(await announced(client), 'done');
  t.is(await announced(client), 'done');

  t.deepEqual(paths, ['/peer/v1/act', '/peer/v1/act']);
  t.is(connections(), 1);
});

test('kept connections that lead nowhere are left for a new one, and what is announced is done once', async t => {
  let acts = 0;
  const act = (response: ServerResponse) => {
    acts += 1;
    answer(response);
  };
  const {client, line, connections} = await startPeer(t, [answer, answer, answer, act]);
  await keepThree(client);

  line.deafen();

  t.is(await announced(client), 'done');
  t.is(acts, 1);
  t.is(connections(), 4);
});

test('of a node that was cut off it is known that an announced request was not heard, long before its deadline', async t => {
  for (const mode of ['blackhole', 'drop-answers', 'drop-requests'] as const) {
    let acts = 0;
    const {client, line} = await startPeer(t, [answer, answer, answer, () => (acts += 1)]);
    await keepThree(client);

    line.setMode(mode);

    const fault = await t.throwsAsync(announced(client, 3_600_000), {instanceOf: Fault});
    t.is(fault?.code, 'node_unreachable', mode);
    t.regex(fault?.detail ?? '', /cannot be reached \(no connection in time\); nothing was done/, mode);
    line.setMode('pass');
    t.is(acts, 0, mode);
  }
});

test('for how long a peer asks its caller to wait is passed on', async t => {
  const busy = (retryAfter: string) => (response: ServerResponse) =>
    response
      .writeHead(503, {'Retry-After': retryAfter})
      .end(JSON.stringify({data: null, error: {code: 'unavailable', detail: 'busy'}, message: 'Service Unavailable'}));
  const {client} = await startPeer(t, [busy('17'), busy('soon')]);

  for (const seconds of [17, 5]) t.like(await t.throwsAsync(ask(client)), {details: {retryAfterSeconds: seconds}});
});

test('what callers wait for keeps no connection from what the nodes say to each other', async t => {
  let caller: ServerResponse | undefined;
  let arrive = () => {};
  const isThere = new Promise<void>(resolve => {
    arrive = resolve;
  });
  const keepWaiting = (response: ServerResponse) => {
    caller = response;
    arrive();
  };
  const {client} = await startPeer(t, [keepWaiting, answer], {limits: single});
  const waiting = ask(client, true);
  await isThere;

  t.is(await ask(client), 'done');

  if (caller) answer(caller);
  t.is(await waiting, 'done');
});

test('mails that nobody reads keep no connection from what callers look up, and those beyond the bound are refused in time', async t => {
  const {client, connections} = await startPeer(t, [sendMail, answer, answer], {limits: single});
  const {stream} = await mail(client);

  t.is(await codeOf(mail(client, 200)), 'node_unreachable');
  t.is(await ask(client, true), 'done');

  t.is(connections(), 2);
  t.false(stream.destroyed);
});

test('a request that gets no connection before its deadline is given up, and not sent later', async t => {
  let first: ServerResponse | undefined;
  const paths: (string | undefined)[] = [];
  const {client} = await startPeer(
    t,
    [
      response => {
        first = response;
      },
      (response, {url}) => {
        paths.push(url);
        answer(response);
      },
    ],
    {limits: single},
  );
  const waiting = ask(client);
  await eventually(() => first);

  t.is(await codeOf(client.ask(z.string(), {method: 'GET', path: 'late', deadlineMs: 200})), 'node_unreachable');

  if (first) answer(first);
  await waiting;
  t.is(await ask(client), 'done');
  t.deepEqual(paths, ['/peer/v1/x']);
});

test('a mail that is read too slowly is broken off, and its connection is free for the next', async t => {
  const hurried = {...single, pace: {graceMs: 200, bytesPerSecond: 10_000_000}};
  const {client} = await startPeer(t, [sendMail, sendMail], {limits: hurried});
  const {stream} = await mail(client);
  const broken = new Promise<Error>(resolve => stream.once('error', resolve));

  t.regex((await broken).message, /too slowly/);

  await t.notThrowsAsync(mail(client));
});

test('a request that is sent again because its connection was closed has no more than the time it was given', async t => {
  const {client} = await startPeer(t, [answer, (_response, {socket}) => setTimeout(() => socket.destroy(), 1200), () => {}]);
  await ask(client);
  let isOverdue = false;
  // Of two timers the earlier one fires first, however busy the machine is.
  const overdue = setTimeout(() => {
    isOverdue = true;
  }, 2500);
  t.teardown(() => clearTimeout(overdue));

  t.is(await codeOf(ask(client, false, 1500)), 'outcome_unknown');

  t.false(isOverdue);
});

test('a line on which handshakes take longer than a question may, and questions do not, is used: what was given up leaves a connection', async t => {
  const {client, line} = await startPeer(t, Array(100).fill(answer));
  line.delay(300);

  const first = await codeOf(ask(client, true, 1000));

  t.not(first, 'done');
  t.is(await eventually(async () => ask(client, true, 1000).catch(() => undefined)), 'done');
});

test('a node whose own certificate has ended asks nobody anything but a new one, and says so', async t => {
  const ended = {issuedAtMs: Date.now() - 200 * 24 * 3600 * 1000, rejectUnauthorized: false};
  const {client, connections} = await startPeer(t, [answer], ended);

  const fault = await t.throwsAsync(ask(client), {instanceOf: Fault});
  const before = connections();
  const renewal = await client.ask(z.string(), {method: 'POST', path: 'x', body: {}, deadlineMs: 10_000, isRenewal: true});

  t.is(fault?.code, 'node_unreachable');
  t.regex(fault?.detail ?? '', /certificate of this node expired at 20/);
  t.deepEqual([before, renewal, connections()], [0, 'done', 1]);
});

test.serial('a kept-alive connection to a peer whose certificate has ended since carries no request any more', async t => {
  // The client's own certificate expires later.
  const {client, connections} = await startPeer(t, [answer, answer, answer], {issuedAtMs: Date.now() + 12 * 3600 * 1000});
  const moveClock = useMovedClock(t);
  await ask(client);
  moveClock(89 * 24 * 3600 * 1000);
  await ask(client);
  const before = connections();

  moveClock(24 * 3600 * 1000 + 1000);
  // By the clock of TLS, which is not moved, the peer's certificate is still valid.
  await ask(client);

  t.deepEqual([before, connections()], [1, 2]);
});

test('a client that is closed waits for nothing any more and asks nothing', async t => {
  let isAsked = false;
  const {client} = await startPeer(
    t,
    [
      sendMail,
      () => {
        isAsked = true;
      },
    ],
    {limits: single},
  );
  const {stream} = await mail(client);
  const broken = new Promise(resolve => stream.once('error', resolve));
  const [heard, notSent] = [codeOf(ask(client)), codeOf(ask(client))];
  await eventually(() => isAsked);

  client.close();

  t.deepEqual([await heard, await notSent], ['outcome_unknown', 'node_unreachable']);
  await broken;
  t.is(await codeOf(ask(client)), 'node_unreachable');
});

test('an answer that is no envelope is no answer, whatever else it is', async t => {
  const bodies = [
    'null',
    '[]',
    '"x"',
    '7',
    '{}',
    '{"data": "done", "error": "x"}',
    '{"data": null, "error": {"code": ["conflict"], "detail": 1}}',
  ];
  const saying = (text: string, status: number) => (response: ServerResponse) => response.writeHead(status).end(text);
  const {client} = await startPeer(
    t,
    bodies.flatMap(text => [saying(text, 200), saying(text, 500)]),
  );

  for (const text of bodies) {
    t.is(await codeOf(ask(client)), 'outcome_unknown', text);
    t.is(await codeOf(mail(client)), 'outcome_unknown', text);
  }
});

import {once} from 'node:events';
import type {RequestListener} from 'node:http';
import {connect, type Socket, type TcpSocketConnectOpts} from 'node:net';
import {type ConnectionOptions, connect as connectTls} from 'node:tls';
import test, {type ExecutionContext} from 'ava';
import {createAuthority, issueLeaf} from '../../../daemon/cluster/certificates.ts';
import {identityIn, identityUris} from '../../../daemon/cluster/peer-identity.ts';
import {createConnections} from '../../../daemon/node/connections.ts';
import {listenHttps, listenMutualTls} from '../../../daemon/node/listen.ts';
import {selfSigned} from '../../helpers/certificate.ts';
import {eventually} from '../../helpers/eventually.ts';
import {freePort} from '../../helpers/ports.ts';
import {openStrangers} from '../../helpers/strangers.ts';

const limits = {maxStrangers: 3, firstRequestMs: 60_000};

/** A client of a listener, over one connection. */
const clientOn = async (t: ExecutionContext, socket: Socket, readyEvent: string) => {
  let received = '';
  socket
    .on('error', () => {})
    .on('data', chunk => {
      received += chunk;
    });
  t.teardown(() => socket.destroy());
  const isOpen = () => !socket.closed && !socket.readableEnded;
  await once(socket, readyEvent);
  return {
    socket,
    isOpen,
    ended: async () => eventually(() => !isOpen()),
    /** Whether an answer comes before the connection ends. */
    async isAnswered(path = '/') {
      received = '';
      socket.write(`GET ${path} HTTP/1.1\r\nHost: a.test\r\n\r\n`);
      await eventually(() => received.includes('done') || !isOpen());
      return received.includes('done');
    },
  };
};

const bare = async (t: ExecutionContext, port: number) => clientOn(t, connect(port, '127.0.0.1'), 'connect');

const encrypted = async (t: ExecutionContext, port: number, options: ConnectionOptions & Partial<TcpSocketConnectOpts> = {}) =>
  clientOn(t, connectTls({port, host: '127.0.0.1', rejectUnauthorized: false, ...options}), 'secureConnect');

/** Requests of `/key` and `/stream` have a valid key. The answer to `/stream` does not end. */
const startListener = async (
  t: ExecutionContext,
  {host = '127.0.0.1', ...differs}: {host?: string; firstRequestMs?: number} = {},
) => {
  const connections = createConnections({...limits, ...differs});
  const handler: RequestListener = ({url, socket}, response) => {
    if (url !== '/') connections.trust(socket);
    response.write('done');
    if (url !== '/stream') response.end();
  };
  const listener = await listenHttps({host, port: 0}, {...(await selfSigned('localhost')), connections}, handler);
  t.teardown(async () => listener.stop(0));
  return listener.address.port;
};

test('a further stranger ends the connection of the oldest one, whatever that has done, and of no other', async t => {
  const port = await startListener(t);
  const [silent, idle, answered] = [await bare(t, port), await encrypted(t, port), await encrypted(t, port)];
  t.true(await answered.isAnswered());

  const fourth = await bare(t, port);
  await silent.ended();
  t.deepEqual(
    [idle, answered, fourth].map(client => client.isOpen()),
    [true, true, true],
  );
  const fifth = await encrypted(t, port);
  await idle.ended();
  t.deepEqual(
    [answered, fourth, fifth].map(client => client.isOpen()),
    [true, true, true],
  );
  const sixth = await encrypted(t, port);
  await answered.ended();

  t.true(await sixth.isAnswered());
  t.deepEqual(
    [fourth, fifth, sixth].map(client => client.isOpen()),
    [true, true, true],
  );
});

test('connections with a valid key are not counted, and no number of strangers ends one or keeps a new one out', async t => {
  const port = await startListener(t);
  const known = [await encrypted(t, port)];
  t.true(await known[0]?.isAnswered('/stream'));
  for (let count = 0; count < 9; count += 1) {
    const client = await encrypted(t, port);
    t.true(await client.isAnswered('/key'));
    known.push(client);
  }

  const strangers = [
    await openStrangers(t, port, {count: 50}),
    await openStrangers(t, port, {count: 50, isEncrypted: true, says: 'GET / HTTP/1.1\r\nHost: a.test\r\n\r\n'}),
  ];
  const late = await encrypted(t, port);

  t.true(await late.isAnswered('/key'));
  await eventually(() => strangers.reduce((sum, {open}) => sum + open(), 0) <= limits.maxStrangers);
  t.true(known.every(client => client.isOpen()));
  for (const client of known.slice(1)) t.true(await client.isAnswered());
});

test('a client whose first request does not come in time is disconnected, however it spends the time', async t => {
  const port = await startListener(t, {firstRequestMs: 2000});
  const [stranger, known] = [await encrypted(t, port), await encrypted(t, port)];
  t.true(await stranger.isAnswered());
  t.true(await known.isAnswered('/key'));

  const slow = await encrypted(t, port);
  const trickle = setInterval(() => slow.socket.write('X'), 100);
  t.teardown(() => clearInterval(trickle));
  // More than three strangers would end the first one.
  const silent = await bare(t, port);
  await Promise.all([silent.ended(), slow.ended()]);
  await (await encrypted(t, port)).ended();

  t.true(await stranger.isAnswered());
  t.true(await known.isAnswered());
});

test('two connections with one remote address and port are told apart by the address of the node', async t => {
  const port = await startListener(t, {host: '0.0.0.0'});
  const ends = {localAddress: '127.0.0.1', localPort: await freePort()};
  const known = await encrypted(t, port, ends);
  const stranger = await encrypted(t, port, {...ends, host: '127.0.0.2'});

  t.true(await known.isAnswered('/key'));
  await openStrangers(t, port, {count: limits.maxStrangers});

  await stranger.ended();
  t.true(await known.isAnswered());
});

/** The port of the peers of a node. Beta is a member; the holder of a join token is not. */
const startPeerListener = async (t: ExecutionContext) => {
  const authority = await createAuthority(Date.now());
  const leafWith = async (uris: string[]) => issueLeaf(authority, {commonName: 'x', hosts: ['localhost'], uris}, Date.now());
  const listener = await listenMutualTls(
    {host: '127.0.0.1', port: 0},
    {
      ...(await leafWith(identityUris({nodeId: 'alpha', nodeNo: 1}))),
      ca: authority.cert,
      connections: createConnections(limits),
      admits: () => true,
      trusts: ({subjectAltName}) => identityIn(subjectAltName) !== undefined,
      mayGetReason: () => false,
    },
    (_request, response) => response.end('done'),
  );
  t.teardown(async () => listener.stop(0));
  return {
    port: listener.address.port,
    beta: await leafWith(identityUris({nodeId: 'beta', nodeNo: 2})),
    token: await leafWith(['urn:mfd:join:1f0e']),
  };
};

test('on the port of the peers the connections of members are not counted, and those of join tokens are', async t => {
  const {port, beta, token} = await startPeerListener(t);
  const members = [];
  for (let count = 0; count < 10; count += 1) {
    const member = await encrypted(t, port, beta);
    t.true(await member.isAnswered());
    members.push(member);
  }
  const joining = await encrypted(t, port, token);
  t.true(await joining.isAnswered());

  const strangers = await openStrangers(t, port, {count: 50});
  await joining.ended();

  t.true(await (await encrypted(t, port, beta)).isAnswered());
  t.true(await (await encrypted(t, port, token)).isAnswered());
  await eventually(() => strangers.open() <= limits.maxStrangers);
  for (const member of members) t.true(await member.isAnswered());
});

// Connections without a key, by the thousand and from one address.
import {Agent} from 'node:https';
import test from 'ava';
import {callApi} from '../helpers/api-call.ts';
import {watchEvents} from '../helpers/event-stream.ts';
import {eventually} from '../helpers/eventually.ts';
import {openStrangers} from '../helpers/strangers.ts';
import {useNode} from '../helpers/use-node.ts';

const node = useNode();
const apiPort = () => Number(new URL(node().api_url).port);

/** Over a connection of its own. */
const askAnew = async (key = node().api_key) => node().api('GET', 'auth/me', {key, from: '127.0.0.1'});

test.serial('2,000 connections without a key keep no administrator out, and end no connection with a key', async t => {
  const agent = new Agent({keepAlive: true, maxSockets: 1, rejectUnauthorized: false});
  t.teardown(() => agent.destroy());
  const ask = async () => callApi(agent, node(), {method: 'GET', path: 'auth/me'});
  t.is((await ask()).status, 200);
  const socket = await eventually(() => Object.values(agent.freeSockets).flat()[0]);
  const stream = await watchEvents(t, node());
  await stream.listening();

  const strangers = await openStrangers(t, apiPort(), {count: 2000});

  t.is((await askAnew()).status, 200);
  await eventually(() => strangers.open() <= 500);
  const {id} = await node().createDomain();
  await stream.next(event => event.type === 'domain' && event.id === id);
  t.is((await ask()).status, 200);
  t.false(socket.destroyed, 'the connection from before');
  t.false(stream.isEnded());
});

test.serial('those that have made a request without a key stay, up to 500, and are no better off', async t => {
  const request = 'GET /api/v1/auth/me HTTP/1.1\r\nHost: x\r\n\r\n';

  const strangers = await openStrangers(t, apiPort(), {count: 700, isEncrypted: true, says: request});

  await eventually(() => strangers.open() <= 500);
  t.is((await askAnew()).status, 200);
  await openStrangers(t, apiPort(), {count: 100});
  await eventually(() => strangers.open() <= 400);
  t.is((await askAnew()).status, 200);
});

test.serial('a key that is refused, or is over its limit, makes its connection no better than one without a key', async t => {
  const [limited, revoked] = [
    await node().createKey('read-only', {rate_limit_per_minute: 1}),
    await node().createKey('read-only'),
  ];
  t.is((await askAnew(limited.key)).status, 200);
  t.is((await node().api('POST', `auth/api-keys/${revoked.id}/revoke`)).status, 200);
  const asked = [limited.key, revoked.key, 'mfk_unknown', node().api_key].map(async key => {
    const agent = new Agent({keepAlive: true, rejectUnauthorized: false});
    t.teardown(() => agent.destroy());
    const {status} = await callApi(agent, node(), {method: 'GET', path: 'auth/me', key});
    return {status, isOpen: () => Object.values(agent.freeSockets).flat().length === 1};
  });
  const clients = await Promise.all(asked);
  t.deepEqual(
    clients.map(({status}) => status),
    [429, 401, 401, 200],
  );

  await openStrangers(t, apiPort(), {count: 500});

  await eventually(() => clients.slice(0, 3).every(({isOpen}) => !isOpen()));
  t.true(clients[3]?.isOpen());
});

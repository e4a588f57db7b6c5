// Connections without a key, by the thousand and from one address.
import {Agent} from 'node:https';
import test from 'ava';
import {callApi} from '../helpers/api-call.ts';
import {useApiNode} from '../helpers/api-node.ts';
import {watchEvents} from '../helpers/event-stream.ts';
import {eventually} from '../helpers/eventually.ts';
import {openStrangers} from '../helpers/strangers.ts';

const node = useApiNode();
const apiPort = () => Number(new URL(node().api_url).port);

/** Over a connection of its own. */
const askAnew = async () => node().api('GET', 'auth/me', {from: '127.0.0.1'});

test.serial('2,000 connections without a key keep no administrator out, and end no connection with a key', async t => {
  const agent = new Agent({keepAlive: true, maxSockets: 1, rejectUnauthorized: false});
  t.teardown(() => agent.destroy());
  const ask = async () => callApi(agent, node(), {method: 'GET', path: 'auth/me'});
  t.is((await ask()).status, 200);
  const [socket] = Object.values(agent.freeSockets).flat();
  const stream = await watchEvents(t, node());
  await stream.listening();

  const strangers = await openStrangers(t, apiPort(), {count: 2000});

  t.is((await askAnew()).status, 200);
  await eventually(() => strangers.open() <= 500);
  const {id} = await node().createDomain();
  await stream.next(event => event.type === 'domain' && event.id === id);
  t.is((await ask()).status, 200);
  t.is(Object.values(agent.freeSockets).flat()[0], socket, 'the connection from before');
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

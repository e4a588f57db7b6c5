import type {IncomingMessage, ServerResponse} from 'node:http';
import {createServer} from 'node:https';
import type {AddressInfo} from 'node:net';
import test, {type ExecutionContext} from 'ava';
import {z} from 'zod';
import {createAuthority, issueLeaf} from '../../../daemon/cluster/certificates.ts';
import {createPeerClient, type PeerClient} from '../../../daemon/cluster/peer-client.ts';
import {identityUris} from '../../../daemon/cluster/peer-identity.ts';
import {success} from '../../../shared/envelope.ts';
import {Fault} from '../../../shared/fault.ts';

const peer = {nodeId: 'beta', nodeNo: 2};

/** A peer that does with each request what `handlers` say, one after the other. */
const startPeer = async (
  t: ExecutionContext,
  handlers: ((answer: ServerResponse, request: IncomingMessage, stop: () => void) => void)[],
  maxSockets?: {own: number; callers: number},
): Promise<{client: PeerClient; connections(): number}> => {
  const authority = await createAuthority(Date.now());
  const leaf = async (identity: typeof peer) =>
    issueLeaf(authority, {commonName: identity.nodeId, hosts: ['localhost'], uris: identityUris(identity)}, Date.now());
  let connections = 0;
  const demands = {ca: authority.cert, requestCert: true, rejectUnauthorized: true};
  const server = createServer({...(await leaf(peer)), ...demands}, (request, response) => {
    request.resume();
    request.once('end', () => handlers.shift()?.(response, request, () => server.close()));
  });
  server.on('secureConnection', () => {
    connections += 1;
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  const {port} = server.address() as AddressInfo;
  const client = createPeerClient({
    peer,
    address: () => ({host: '127.0.0.1', port}),
    credentials: {...(await leaf({nodeId: 'alpha', nodeNo: 1})), ca: authority.cert},
    ...(maxSockets && {maxSockets}),
  });
  t.teardown(() => {
    client.close();
    server.closeAllConnections();
    server.close();
  });
  return {client, connections: () => connections};
};

const answer = (response: ServerResponse) => response.end(JSON.stringify(success('done')));
const ask = async (client: PeerClient, isForCaller = false) =>
  client.ask(z.string(), {method: 'POST', path: 'x', body: {}, deadlineMs: 10_000, isForCaller});
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
  const {client} = await startPeer(t, [keepWaiting, answer], {own: 1, callers: 1});
  const waiting = ask(client, true);
  await isThere;

  t.is(await ask(client), 'done');

  if (caller) answer(caller);
  t.is(await waiting, 'done');
});

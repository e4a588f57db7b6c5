// Trust on the cluster port: which clients are admitted, what they may do, and how trust ends.
import {X509Certificate} from 'node:crypto';
import {readFile, writeFile} from 'node:fs/promises';
import {Agent, get} from 'node:https';
import {join} from 'node:path';
import {setTimeout as wait} from 'node:timers/promises';
import test, {type ExecutionContext} from 'ava';
import {createAuthority, createRequest, issueLeaf} from '../../daemon/cluster/certificates.ts';
import {identityIn, identityUris} from '../../daemon/cluster/peer-identity.ts';
import {formatStamp} from '../../daemon/replication/clock.ts';
import {type ClusterNode, startCluster} from '../helpers/cluster.ts';
import {eventually} from '../helpers/eventually.ts';
import {heartbeatOf} from '../helpers/false-peer.ts';
import {makeToken} from '../helpers/join-attempt.ts';
import {startNode, type TestNode} from '../helpers/node.ts';
import {isOwnStore, keptMails} from '../helpers/node-store.ts';
import {type Credentials, callPeer, nodeCredentials, openConnection, shownAt, tokenCredentials} from '../helpers/peer-call.ts';
import {sendMail} from '../helpers/smtp-client.ts';
import {testOwnStore} from '../helpers/test-own-store.ts';

const dayMs = 24 * 3600 * 1000;

const nodesOf = async (node: Pick<TestNode, 'api'>): Promise<string[]> =>
  (await node.api('GET', 'cluster/status')).json.data.peers.map(({node_id}: {node_id: string}) => node_id).toSorted();

/** A request of a member, and its answer: nodes that share a store have nothing to replicate. */
const asked = isOwnStore ? {path: 'digests', status: 200} : {path: 'anything', status: 404};

const passwordWarning = isOwnStore
  ? ''
  : 'warning: gamma still knows the password of the store: change it in PostgreSQL, and in store.password_file of all other nodes\n';

/** All requests that members may send. */
const memberPaths: [method: string, path: string][] = [
  ['POST', 'heartbeat'],
  ['POST', 'events'],
  ['GET', 'records'],
  ['POST', 'records'],
  ['GET', 'digests'],
  ['POST', 'tokens'],
  ['POST', 'certificates'],
  ['GET', 'anything'],
];

/** A removed node gets this refusal for every request, and nothing else; then the connection is closed. */
const turnedAway = async (t: ExecutionContext, node: TestNode, old: Credentials) => {
  const paths: typeof memberPaths = [...memberPaths, ['POST', 'join'], ['POST', 'removed']];
  for (const [method, path] of paths) {
    const {status, json} = await callPeer(node, old, {method, path, ...(method === 'POST' && {body: {}})});
    t.deepEqual([status, json.error.code, json.data], [403, 'node_removed', null], path);
  }
  const silent = await openConnection(node, old).catch(() => undefined);
  await silent?.closed;
};

test.serial(
  'a removed node is refused everywhere within 5 s, its open connections end, and whoever gets its name is another',
  async t => {
    const {nodes, addNode} = await startCluster(t, {isProxied: false});
    const {alpha, beta, gamma} = nodes;
    const old = await nodeCredentials(gamma);
    const open = await Promise.all([alpha, beta].map(async node => openConnection(node, old)));
    const kept = await Promise.all([alpha, beta].map(async node => openConnection(node, await nodeCredentials(beta))));
    const before = await callPeer(beta, old, {path: asked.path});

    const removed = await alpha.mfctl(['cluster', 'remove', 'gamma', '--yes']);
    const ended = await Promise.race([
      Promise.all(open.map(({closed}) => closed)).then(() => 'closed'),
      wait(5000, 'still open'),
    ]);

    t.is(before.status, asked.status);
    t.is(removed.code, 0, removed.stderr);
    t.is(removed.stderr, `removed node gamma\n${passwordWarning}`);
    t.is(ended, 'closed');
    t.true(
      kept.every(({isOpen}) => isOpen()),
      'connections of others go on',
    );
    for (const {socket} of kept) socket.destroy();
    for (const node of [alpha, beta]) {
      await turnedAway(t, node, old);
      t.deepEqual(await nodesOf(node), ['alpha', 'beta']);
    }
    t.like((await alpha.audit('cluster.remove'))[0], {target: 'gamma', result: 'ok', key_name: 'admin'});

    await gamma.stop();
    const again = await addNode('gamma');
    const shown = new X509Certificate((await nodeCredentials(again)).cert);

    t.deepEqual(identityIn(shown.subjectAltName), {nodeId: 'gamma', nodeNo: 4});
    t.deepEqual(await nodesOf(alpha), ['alpha', 'beta', 'gamma']);
    await turnedAway(t, alpha, old);
    await eventually(async () => (await nodesOf(beta)).includes('gamma'));
    await turnedAway(t, beta, old);
    t.is((await callPeer(beta, await nodeCredentials(again), {path: asked.path})).status, asked.status);
  },
);

/** The answers of a removed node, until it joins again. */
const servesNothing = async (t: ExecutionContext, node: ClusterNode) => {
  for (const [method, path] of [
    ['GET', 'auth/me'],
    ['GET', 'mail/quarantine'],
    ['GET', 'nothing'],
    ['POST', 'domains'],
    ['DELETE', 'auth/api-keys/1'],
  ] as const) {
    const {status, json, headers} = await node.api(method, path);
    t.deepEqual([status, json.error.code], [503, 'unavailable'], path);
    t.regex(json.error.detail, /was removed from its cluster .*mfd join/);
    t.truthy(headers['retry-after']);
  }
  t.is((await node.api('GET', 'openapi.yaml')).status, 200);
  const {reply} = await sendMail({
    port: node.smtpPort,
    from: 'a@outside.test',
    to: 'b@held.test',
    raw: 'Subject: x\r\n\r\nx\r\n',
  });
  t.regex(`${reply.code} ${reply.text}`, /^451 4\.3\.2 /);
  const ready = await fetch(`${node.metrics_url}/readyz`);
  t.is(ready.status, 503);
  t.regex(await ready.text(), /^this node was removed from its cluster/);
  const errors = node
    .log()
    .split('\n')
    .filter(line => line.includes('"level":"error"'));
  t.is(errors.length, 1, errors.join('\n'));
  t.regex(errors[0] ?? '', /this node was removed from its cluster/);
};

test.serial('a node that is removed is told, serves nobody from then on, and keeps the mail it holds', async t => {
  const {nodes} = await startCluster(t, {isProxied: false});
  const {alpha, gamma} = nodes;
  await gamma.createDomain({name: 'held.test'});
  const {queue_id} = await gamma.hold({to: 'b@held.test'});
  const watching = gamma.api('GET', 'events');

  t.is((await alpha.api('DELETE', 'cluster/nodes/gamma')).status, 200);
  await eventually(async () => (await gamma.api('GET', 'auth/me')).status === 503);

  await servesNothing(t, gamma);
  await watching;
  await gamma.stop();
  await alpha.stop();
  await nodes.beta.stop();
  await gamma.start();
  await servesNothing(t, gamma);
  t.true((await keptMails(gamma.data)).includes(queue_id));
});

test.serial('a node that was away while it was removed learns it from the first that it asks', async t => {
  const {nodes} = await startCluster(t, {isProxied: false});
  const {alpha, beta, gamma} = nodes;
  await gamma.createDomain({name: 'held.test'});
  await gamma.stop();
  await alpha.api('DELETE', 'cluster/nodes/gamma');
  await alpha.stop();

  await gamma.start();

  await servesNothing(t, gamma);
  t.deepEqual(await nodesOf(beta), ['alpha', 'beta']);
});

test.serial('only a member can tell a node that it was removed, and only by the number of that very node', async t => {
  const {nodes} = await startCluster(t, {nodes: ['alpha', 'beta'], isProxied: false});
  const {alpha, beta} = nodes;
  const authority = await nodeCredentials(alpha, 'ca');
  const unknown = await issueLeaf(
    authority,
    {commonName: 'x', hosts: ['localhost'], uris: identityUris({nodeId: 'delta', nodeNo: 9})},
    Date.now(),
  );

  const removed = {method: 'POST', path: 'removed', body: {node_no: 2}};
  await t.throwsAsync(callPeer(beta, unknown, removed));
  const another = await callPeer(beta, await nodeCredentials(alpha), {...removed, body: {node_no: 3}});

  t.is(another.status, 422);
  t.is((await beta.api('GET', 'auth/me')).status, 200);
});

test.serial('removing says who could not be told, and refuses what would lock the cluster up', async t => {
  const {nodes} = await startCluster(t, {isProxied: false});
  const {alpha, beta, gamma} = nodes;
  const remove = async (by: typeof alpha, path: string) => by.api('DELETE', `cluster/nodes/${path}`);
  await eventually(async () => (await remove(beta, 'alpha')).status === 409);

  const own = await remove(alpha, 'alpha');
  const unknown = await remove(alpha, 'delta');
  const wrong = await remove(alpha, 'a%20b');
  const holder = await remove(beta, 'alpha');
  await gamma.stop();
  await alpha.stop();
  const forced = await remove(beta, 'alpha?force=true');

  t.is(own.status, 409);
  t.regex(own.json.error.detail, /have another node remove it/);
  t.deepEqual([unknown.status, unknown.json.error.code], [404, 'unknown_node']);
  t.is(wrong.status, 400);
  t.is(holder.status, 409);
  t.regex(holder.json.error.detail, /only node known to have the key .*\?force=true/);
  t.is(forced.status, 200);
  t.is(forced.json.data, null);
  t.is(forced.headers['x-unreachable-nodes'], 'gamma');
  t.deepEqual(await nodesOf(beta), ['beta', 'gamma']);
});

test.serial('strangers get nothing at all, and a token nothing but to join', async t => {
  const node = await startNode(t);
  const stranger = await createAuthority(Date.now());
  const forged = await issueLeaf(
    stranger,
    {commonName: 'x', hosts: ['localhost'], uris: identityUris({nodeId: node.node_id, nodeNo: 1})},
    Date.now(),
  );
  const authority = await nodeCredentials(node, 'ca');
  const unknown = await issueLeaf(
    authority,
    {commonName: 'x', hosts: ['localhost'], uris: identityUris({nodeId: 'nobody', nodeNo: 9})},
    Date.now(),
  );
  const nameless = await issueLeaf(authority, {commonName: 'x', hosts: ['localhost'], uris: ['urn:other:node:x']}, Date.now());
  const ticket = tokenCredentials(await makeToken(node));
  const paths: typeof memberPaths = [...memberPaths, ['POST', 'join']];

  for (const [method, path] of paths) {
    const wanted = {method, path, ...(method === 'POST' && {body: {}})};
    for (const shown of [undefined, forged, await nodeCredentials(node, 'api'), unknown])
      await t.throwsAsync(callPeer(node, shown, wanted), undefined, path);
    const {status} = await callPeer(node, ticket, wanted);
    t.is(status, path === 'join' ? 422 : 403, path);
  }
  t.is((await callPeer(node, nameless, {path: 'digests'})).status, 403);
  t.is((await callPeer(node, await nodeCredentials(node), {method: 'POST', path: 'join', body: {}})).status, 403);
  // A client with an unknown token does not even learn whether the body is valid.
  const invented = await issueLeaf(authority, {commonName: 'x', hosts: ['localhost'], uris: ['urn:mfd:join:1f0e']}, Date.now());
  t.is((await callPeer(node, invented, {method: 'POST', path: 'join', body: {}})).status, 403);
});

testOwnStore.serial('a node speaks for itself only', async t => {
  const {nodes} = await startCluster(t, {isProxied: false});
  const {alpha, beta} = nodes;
  const asBeta = await nodeCredentials(beta);
  const post = async (path: string, body: unknown) => callPeer(alpha, asBeta, {method: 'POST', path, body});
  const {json} = await callPeer(beta, await nodeCredentials(alpha), {path: 'records'});
  const heartbeat = heartbeatOf(beta, 2, {version: 'x', has_authority: false});
  const admin = json.data.records.find(({kind}: {kind: string}) => kind === 'api_key');
  const stamp = formatStamp(Date.now(), 0, 1);
  const seq = (json.data.applied[2] ?? 0) + 1;
  const forged = {kind: 'api_key', id: admin.id, fields: {scope: ['read-only', stamp]}, deleted: null};
  const {request} = await createRequest();
  const requests = {node_csr: request, api_csr: request, api_hosts: ['localhost', 'beta.test']};

  const own = await post('heartbeat', heartbeat);
  const other = await post('heartbeat', {...heartbeat, node_id: 'gamma', node_no: 3});
  const borrowed = await post('heartbeat', {...heartbeat, node_id: 'gamma'});
  const events = await post('events', {floor: 0, events: [{seq, event: {stamp, changes: [forged]}}]});
  const certificates = await post('certificates', requests);
  const ofGamma = await post('certificates', {...requests, node_id: 'gamma'});

  t.is(own.status, 200);
  for (const answer of [other, borrowed, events]) t.is(answer.status, 422, JSON.stringify(answer.json));
  t.regex(events.json.error.detail, /stamps of another node/);
  t.like((await alpha.api('GET', 'auth/me')).json.data, {scope: 'full-admin'});
  for (const answer of [certificates, ofGamma]) {
    const given = new X509Certificate(answer.json.data.node_cert);
    t.deepEqual(identityIn(given.subjectAltName), {nodeId: 'beta', nodeNo: 2});
  }
});

const fingerprintOf = (pem: string) => new X509Certificate(pem).fingerprint256;

/** Gives a stopped node certificates that were issued this number of days ago. Resolves with them. */
const age = async (founder: TestNode, node: TestNode, days: number): Promise<Record<'node' | 'api', string>> => {
  const authority = await nodeCredentials(founder, 'ca');
  const nodeNo = identityIn(new X509Certificate((await nodeCredentials(node)).cert).subjectAltName)?.nodeNo ?? 0;
  const made = {} as Record<'node' | 'api', string>;
  for (const [name, uris] of [
    ['node', identityUris({nodeId: node.node_id, nodeNo})],
    ['api', []],
  ] as const) {
    const leaf = {commonName: node.node_id, hosts: ['localhost', '127.0.0.1'], uris: [...uris]};
    const pair = await issueLeaf(authority, leaf, Date.now() - days * dayMs);
    await writeFile(join(node.data, 'tls', `${name}.key`), pair.key);
    await writeFile(join(node.data, 'tls', `${name}.crt`), pair.cert);
    made[name] = pair.cert;
  }
  return made;
};

test.serial(
  'a node whose certificate has ended starts, and gets a new one and nothing else; one that was removed is told so',
  async t => {
    const {nodes} = await startCluster(t, {isProxied: false});
    const {alpha, beta, gamma} = nodes;
    await Promise.all([beta.stop(), gamma.stop()]);
    const aged = await age(alpha, beta, 200);
    await age(alpha, gamma, 200);
    const asBeta = await nodeCredentials(beta);
    const authority = await nodeCredentials(alpha, 'ca');
    const leaf = async (identity: {nodeId: string; nodeNo: number}, days: number) =>
      issueLeaf(authority, {commonName: 'x', hosts: ['localhost'], uris: identityUris(identity)}, Date.now() - days * dayMs);
    const {request} = await createRequest();
    const renewal = {method: 'POST', path: 'certificates', body: {node_csr: request, api_csr: request, api_hosts: ['localhost']}};

    const otherPaths: typeof memberPaths = [...memberPaths.filter(([, path]) => path !== 'certificates'), ['POST', 'join']];
    for (const [method, path] of otherPaths) {
      const {status, json} = await callPeer(alpha, asBeta, {method, path, ...(method === 'POST' && {body: {}})});
      t.is(status, 403, path);
      t.regex(json.error.detail, /the client certificate expired at 20/);
    }
    const {status, json} = await callPeer(alpha, asBeta, renewal);
    t.is(status, 200);
    t.deepEqual(identityIn(new X509Certificate(json.data.node_cert).subjectAltName), {nodeId: 'beta', nodeNo: 2});
    for (const shown of [await leaf({nodeId: 'beta', nodeNo: 2}, 460), await leaf({nodeId: 'beta', nodeNo: 9}, 200)])
      await t.throwsAsync(callPeer(alpha, shown, renewal));

    const {stdout} = await alpha.mfctl(['cluster', 'remove', 'gamma', '--yes', '-o', 'json']);
    await gamma.start();
    await beta.start();

    const ready = await eventually(async () => {
      const answer = await fetch(`${gamma.metrics_url}/readyz`);
      return answer.status === 503 && answer.text();
    });
    t.regex(ready, /^this node was removed from its cluster/, stdout);
    t.false(ready.includes('cut off'));
    await eventually(async () => (await shownAt(beta.cluster_url)) !== fingerprintOf(aged.node));
    await eventually(async () => (await nodesOf(beta)).length === 2);
    t.true((await beta.status()).peers.every(({healthy}) => healthy === 'online'));
    const renewals = (await alpha.audit('cluster.renew')).map(({detail}) => detail);
    t.is(renewals.filter(detail => /^number 2, its certificate had expired at 20/.test(detail)).length, 2, renewals.join());
  },
);

test.serial('certificates that grow old are renewed over a peer, without a restart and without a failed request', async t => {
  const {nodes} = await startCluster(t, {nodes: ['alpha', 'beta'], isProxied: false});
  const {alpha, beta} = nodes;
  await eventually(async () => (await beta.api('POST', 'cluster/tokens')).status === 201);
  await beta.stop();
  const aged = await age(alpha, beta, 70);
  await alpha.stop();
  await beta.start();
  const atStart = [await shownAt(beta.cluster_url), await shownAt(beta.api_url)];
  await alpha.start();
  const pid = beta.pid();

  const ca = await readFile(beta.ca_file, 'utf8');
  const agents = [new Agent({ca, keepAlive: true}), new Agent({ca})];
  t.teardown(() => {
    for (const agent of agents) agent.destroy();
  });
  const outcomes: string[] = [];
  const ask = async (agent: Agent) =>
    new Promise<void>(resolve => {
      const note = (outcome: string) => {
        outcomes.push(outcome);
        resolve();
      };
      get(`${beta.api_url}/api/v1/auth/me`, {agent, headers: {'X-API-Key': beta.api_key}}, response => {
        response.resume().on('end', () => note(String(response.statusCode)));
      }).on('error', error => note(error.message));
    });
  let isOver = false;
  const asking = agents.map(async agent => {
    while (!isOver) await ask(agent);
  });
  const asAlpha = await nodeCredentials(alpha);
  const peering = (async () => {
    while (!isOver) {
      const {status} = await callPeer(beta, asAlpha, {path: asked.path});
      outcomes.push(status === asked.status ? '200' : String(status));
    }
  })();

  await eventually(async () => {
    beta.signal('SIGHUP');
    await wait(300);
    return (await shownAt(beta.api_url)) !== atStart[1];
  });
  await wait(500);
  isOver = true;
  await Promise.all([...asking, peering]);

  t.deepEqual(atStart, [fingerprintOf(aged.node), fingerprintOf(aged.api)]);
  t.not(await shownAt(beta.cluster_url), atStart[0]);
  t.is(await shownAt(beta.cluster_url), fingerprintOf((await nodeCredentials(beta)).cert));
  t.deepEqual([...new Set(outcomes)], ['200'], `of ${outcomes.length}`);
  t.is(beta.pid(), pid);
  const made = await alpha.createDomain();
  await eventually(async () => beta.domain(made.id));
  const told = await beta.createDomain({name: 'after-renewal.test'});
  await eventually(async () => alpha.domain(told.id));
});

// Joins by operators and by strangers.
import type {ChildProcess} from 'node:child_process';
import {mkdir, readdir, readFile, rm, writeFile} from 'node:fs/promises';
import {createServer} from 'node:net';
import {join} from 'node:path';
import test, {type ExecutionContext} from 'ava';
import {createAuthority} from '../../daemon/cluster/certificates.ts';
import {createClusterAuthority, decodeJoinToken, encodeJoinToken} from '../../daemon/cluster/join-token.ts';
import {parseHostPort} from '../../shared/host-port.ts';
import {startCluster} from '../helpers/cluster.ts';
import {eventually} from '../helpers/eventually.ts';
import {attemptJoin, makeToken} from '../helpers/join-attempt.ts';
import {listening} from '../helpers/listening.ts';
import {freeListens, mfdFile, run, startNode, type TestNode} from '../helpers/node.ts';
import {freePort} from '../helpers/ports.ts';
import {startProxy} from '../helpers/tcp-proxy.ts';

const nodesOf = async (node: Pick<TestNode, 'api'>): Promise<string[]> =>
  (await node.api('GET', 'cluster/status')).json.data.peers.map(({node_id}: {node_id: string}) => node_id);

const authorityOf = async ({data}: Pick<TestNode, 'data'>, now: () => number = Date.now) => {
  const [key, cert] = await Promise.all(['ca.key', 'ca.crt'].map(name => readFile(join(data, 'tls', name), 'utf8')));
  return createClusterAuthority({key: key ?? '', cert: cert ?? ''}, now);
};

const isOneLine = (text: string) => text.split('\n').length === 2 && /^mfd: .*\n$/.test(text);

const refused = (t: ExecutionContext, attempt: Awaited<ReturnType<typeof attemptJoin>>, why: RegExp) => {
  t.is(attempt.code, 1, attempt.stderr);
  t.is(attempt.stdout, '');
  t.true(isOneLine(attempt.stderr), attempt.stderr);
  t.regex(attempt.stderr, why);
  t.deepEqual(attempt.left, []);
};

test.serial('a node that joins has everything at once, and what is made on it reaches the others', async t => {
  const {nodes, addNode} = await startCluster(t, {nodes: ['alpha'], isProxied: false});
  const {alpha} = nodes;
  const made = [await alpha.createDomain(), await alpha.createDomain()];

  const beta = await addNode('beta');
  const atOnce = await Promise.all(made.map(async ({id}) => beta.domain(id)));
  const gamma = await addNode('gamma');
  const own = await beta.createDomain({name: 'made-on-beta.test'});
  await eventually(async () => (await alpha.domain(own.id)) && (await gamma.domain(own.id)));

  t.deepEqual(atOnce, made);
  for (const node of [alpha, beta, gamma]) t.deepEqual((await nodesOf(node)).toSorted(), ['alpha', 'beta', 'gamma']);
  t.deepEqual(
    (await alpha.audit('cluster.join')).map(({target}) => target),
    ['gamma', 'beta'],
  );
  t.deepEqual(
    [Math.floor((made[0]?.id ?? 0) / 1e9), Math.floor(own.id / 1e9)],
    [1, 2],
    'ids begin with the number of the node that gave them',
  );
});

test.serial('a node that the cluster cannot reach where it says it is has joined, and is told so', async t => {
  const node = await startNode(t);
  const join = async (nodeId: string, ...args: string[]) => attemptJoin(t, await makeToken(node), {nodeId, args});
  const elsewhere = createServer(socket => socket.destroy());
  const other = `127.0.0.1:${await listening(t, elsewhere)}`;

  const well = await join('well');
  const nameless = await join('nameless', '--cluster-advertise', 'no-such-host.invalid:8444');
  const closed = await join('closed', '--cluster-advertise', `127.0.0.1:${await freePort()}`);
  const misled = await join('misled', '--cluster-advertise', other);

  t.deepEqual([well.code, nameless.code, closed.code, misled.code], [0, 0, 0, 0]);
  t.is(well.stderr, '');
  t.regex(
    nameless.stderr,
    /^warning: node \S+ cannot reach this one at no-such-host\.invalid:8444: that name cannot be looked up there\. Open the port .*, or correct cluster\.advertise \(or fqdn\) in \S+\/mfd\.yaml before mfd start; .*\n$/,
  );
  t.regex(closed.stderr, /^warning: node \S+ cannot reach this one at 127\.0\.0\.1:\d+: the connection is refused\. /);
  t.true(misled.stderr.startsWith(`warning: at ${other} node ${node.node_id} reaches another machine than this one. `));
});

test.serial('mfctl prints the token alone, and mfd join tells how to go on', async t => {
  const node = await startNode(t);

  const {stdout, stderr} = await node.mfctl(['cluster', 'token', '--expires-in', '10m']);
  const joined = await attemptJoin(t, stdout, {nodeId: 'beta'});
  const report = JSON.parse(joined.stdout);

  t.regex(stdout, /^mfj1_[\w-]+\n$/);
  t.regex(stderr, /mfd join - --data/);
  t.is(joined.code, 0, joined.stderr);
  t.deepEqual(Object.keys(report).sort(), 'api_url ca_file cluster_url data metrics_url node_id node_no smtp'.split(' '));
  t.like(report, {node_id: 'beta', node_no: 2, data: joined.data});
  t.is(await readFile(report.ca_file, 'utf8'), await readFile(node.ca_file, 'utf8'));
  t.deepEqual((await readdir(join(joined.data, 'tls'))).sort(), ['api.crt', 'api.key', 'ca.crt', 'node.crt', 'node.key']);
  const again = await run(mfdFile, ['join', '-', '--data', joined.data], {input: stdout});
  t.is(again.code, 1);
  t.regex(again.stderr, /holds a node already/);
});

test.serial(
  'a token that is used, expired, damaged, made up or of another cluster lets nobody in and leaves nothing',
  async t => {
    const node = await startNode(t);
    const token = await makeToken(node);
    const address = new URL(node.cluster_url).host;
    const stranger = createClusterAuthority(await createAuthority(Date.now()), Date.now);
    const end = Date.now() + 60_000;
    const foreign = await stranger.issueToken({id: 'abc', endMs: end, address});
    const longAgo = Date.now() - 3 * 24 * 3600 * 1000;
    const real = await authorityOf(node);

    refused(t, await attemptJoin(t, 'mfk_hello'), /not a join token/);
    refused(t, await attemptJoin(t, token.slice(0, -9)), /damaged/);
    refused(t, await attemptJoin(t, `${token.slice(0, 99)}${token[99] === 'A' ? 'B' : 'A'}${token.slice(100)}`), /damaged/);
    refused(t, await attemptJoin(t, foreign), /not a node of the cluster that the token is for; nothing was done/);
    const {seed, certificate} = decodeJoinToken(foreign);
    refused(
      t,
      await attemptJoin(t, encodeJoinToken({...decodeJoinToken(token), seed, certificate})),
      /damaged: its parts belong to two clusters; nothing was done/,
    );
    refused(t, await attemptJoin(t, await real.issueToken({id: 'abc', endMs: end, address})), /not known here any more/);
    const old = await authorityOf(node, () => longAgo);
    refused(t, await attemptJoin(t, await old.issueToken({id: 'abc', endMs: longAgo + 1000, address})), /expired/);
    t.is((await attemptJoin(t, token, {nodeId: 'beta'})).code, 0);
    refused(t, await attemptJoin(t, token, {nodeId: 'gamma'}), /was used at .*make a new one/);
    t.deepEqual((await nodesOf(node)).length, 2);
  },
);

test.serial('a token past its time is told to be that, although its certificate still opens the door', async t => {
  const node = await startNode(t);
  const token = await makeToken(node, {expires_in_s: 60});
  await node.stop();
  // The expiry is set in the table: a minute is too long for a test.
  const {openTestStore} = await import('../helpers/store.ts');
  const store = await openTestStore(join(node.data, 'mfd.db'));
  await store.write('join_token').update({expires_at: '2026-01-01T00:00:00.000Z'});
  await store.close();
  await node.start();

  refused(t, await attemptJoin(t, token), /expired at 2026-01-01T00:00:00\.000Z; make a new one/);
});

test.serial('a node id that is taken is refused, and the token stays good', async t => {
  const node = await startNode(t);
  const token = await makeToken(node);

  const taken = await attemptJoin(t, token, {nodeId: node.node_id});
  const other = await attemptJoin(t, token, {nodeId: 'other'});

  refused(t, taken, new RegExp(`has a node ${node.node_id} already; remove it first .*or choose another --node-id`));
  t.is(other.code, 0, other.stderr);
});

test.serial('of two that come with one token at once exactly one gets in', async t => {
  const node = await startNode(t);
  const token = await makeToken(node);

  const both = await Promise.all(['beta', 'gamma'].map(async nodeId => attemptJoin(t, token, {nodeId})));

  t.deepEqual(both.map(({code}) => code).sort(), [0, 1]);
  const loser = both.find(({code}) => code === 1);
  if (loser) refused(t, loser, /was used at/);
  t.is((await nodesOf(node)).length, 2);
});

test.serial('what cannot be done is found before the cluster is asked, and what was there stays', async t => {
  const node = await startNode(t);
  const token = await makeToken(node);
  const provisioned = await attemptJoin(t, 'nonsense');
  await mkdir(provisioned.data);
  const own = 'fqdn: mx2.example.com\nlog: {level: warn}\n';
  await writeFile(join(provisioned.data, 'mfd.yaml'), own);
  const twice = await run(mfdFile, ['join', '-', '--data', provisioned.data, ...(await freeListens())], {input: token});
  await node.stop();

  const away = await run(mfdFile, ['join', '-', '--data', provisioned.data], {input: token});
  const badId = await attemptJoin(t, token, {nodeId: 'a b'});

  t.regex(twice.stderr, /mfd\.yaml is there already/);
  t.is(away.code, 1);
  t.regex(away.stderr, /cannot be reached at 127\.0\.0\.1:\d+ .*nothing was done/);
  t.deepEqual(await readdir(provisioned.data), ['mfd.yaml']);
  t.is(await readFile(join(provisioned.data, 'mfd.yaml'), 'utf8'), own);
  t.is(badId.code, 2);
  t.regex(badId.stderr, /--node-id/);
});

test.serial('a node with a common store is refused by a cluster of nodes with SQLite, and its token stays valid', async t => {
  const node = await startNode(t);
  const token = await makeToken(node);

  const shared = await attemptJoin(t, token, {args: ['--store-url', 'postgres://mfd@127.0.0.1:1/mfd']});
  const fromVariable = await attemptJoin(t, token, {args: ['--store-password-file', '/dev/null']});

  for (const attempt of [shared, fromVariable])
    refused(t, attempt, /every node of this cluster has a store of its own \(SQLite\).*nothing was done/);
  t.is((await attemptJoin(t, token)).code, 0);
});

test.serial('when the answer is lost it is told what to look at, and nothing is left here', async t => {
  const node = await startNode(t);
  const proxy = await startProxy(t, () => parseHostPort(new URL(node.cluster_url).host));
  const token = encodeJoinToken({...decodeJoinToken(await makeToken(node)), address: `127.0.0.1:${proxy.port}`});
  proxy.delay(700);

  const attempt = attemptJoin(t, token, {nodeId: 'beta'});
  await eventually(async () => (await nodesOf(node)).includes('beta'));
  proxy.reset();

  refused(t, await attempt, /its answer was lost. .*mfctl cluster remove beta.*new token/);
});

test.serial('when it is interrupted it says whether anything was done, and nothing is left here', async t => {
  const node = await startNode(t);
  const proxy = await startProxy(t, () => parseHostPort(new URL(node.cluster_url).host));
  const tokenTo = async () => encodeJoinToken({...decodeJoinToken(await makeToken(node)), address: `127.0.0.1:${proxy.port}`});
  const interrupted = async (nodeId: string, when: () => Promise<unknown>) => {
    const attempt = attemptJoin(t, await tokenTo(), {nodeId, onStart: started => void children.push(started)});
    await when();
    children.at(-1)?.kill('SIGINT');
    return attempt;
  };
  const children: ChildProcess[] = [];
  const isIn = (nodeId: string) => async () => eventually(async () => (await nodesOf(node)).includes(nodeId));
  const before = proxy.counts.connections;

  proxy.delay(1000);
  const early = await interrupted('beta', async () => eventually(() => proxy.counts.connections > before));
  const asked = await interrupted('gamma', isIn('gamma'));
  const taken = await interrupted('delta', async () => {
    await isIn('delta')();
    const {connections} = proxy.counts;
    // The second client has the certificate of a node.
    await eventually(() => proxy.counts.connections > connections);
  });

  refused(t, early, /^mfd: interrupted; nothing was done$/m);
  refused(t, asked, /was asked to let this one in, and its answer was not waited for\. .*mfctl cluster remove gamma/);
  refused(t, taken, /the cluster has admitted the node, .* interrupted\. .*mfctl cluster remove delta/);
  t.false((await nodesOf(node)).includes('beta'));
});

test.serial('any node gives out tokens; only where the CA key lies are they made and good', async t => {
  const {nodes} = await startCluster(t, {nodes: ['alpha', 'beta'], isProxied: false});
  const {alpha, beta} = nodes;

  const made = await eventually(async () => {
    const answer = await beta.api('POST', 'cluster/tokens');
    return answer.status === 201 && answer;
  });
  const joined = await attemptJoin(t, made.json.data.token, {nodeId: 'gamma'});
  await alpha.stop();
  const alone = await beta.api('POST', 'cluster/tokens');

  t.is(made.json.data.address, new URL(alpha.cluster_url).host);
  t.is(joined.code, 0, joined.stderr);
  t.is(alone.status, 503);
  t.regex(alone.json.error.detail, /node alpha .*tls\/ca\.key/);
  t.truthy(alone.headers['retry-after']);
  await alpha.start();
  const [entry] = await alpha.audit('cluster.token');
  t.like(entry, {key_name: 'admin', remote_address: '127.0.0.1'});
  t.regex(entry?.detail ?? '', /asked through beta/);
});

test.serial('a token request is checked, and without the CA key it says where that belongs', async t => {
  const node = await startNode(t);

  for (const body of [{expires_in_s: 59}, {expires_in_s: 86_401}, {expires_in_s: '60'}, {expires: 60}]) {
    const {status, json} = await node.api('POST', 'cluster/tokens', {body});
    t.is(status, 422, JSON.stringify(body));
    t.is(json.error.code, 'validation_failed');
  }
  const {json} = await node.api('POST', 'cluster/tokens');
  await rm(join(node.data, 'tls', 'ca.key'));
  const without = await node.api('POST', 'cluster/tokens');

  t.deepEqual(Object.keys(json.data).sort(), ['address', 'ca_fingerprint', 'expires_at', 'token']);
  t.true(Math.abs(Date.parse(json.data.expires_at) - Date.now() - 3_600_000) < 60_000);
  t.is(without.status, 503);
  t.regex(without.json.error.detail, /put that file into tls\//);
});

// Contexts with the addresses of several nodes: the node that is used when one does not answer, and the servers that never get
// the key.
import {readFile, writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import test, {type ExecutionContext} from 'ava';
import {createAuthority, issueLeaf, type KeyAndCertificate} from '../../../daemon/cluster/certificates.ts';
import {runCli} from '../../helpers/cli/fake-terminal.ts';
import {createdKey} from '../../helpers/cli/sample-answers.ts';
import {clusterStatus, domain, key, mail, outcome, peer} from '../../helpers/cli/sample-records.ts';
import {type Reply, startApi} from '../../helpers/cli/scripted-api.ts';
import {startMute} from '../../helpers/mute-server.ts';
import {freePort} from '../../helpers/ports.ts';

const keyText = `mfk_${'0'.repeat(38)}`;
const nothingThere = async (): Promise<string> => `https://localhost:${await freePort()}`;
const hostOf = (url: string): string => new URL(url).host;

type Answers = Parameters<typeof startApi>[1];

/** One authority, and a server of its own for each of `all`. */
const startNodes = async (t: ExecutionContext, ...all: Answers[]) => {
  const ca = await createAuthority(Date.now());
  const leaf = () => issueLeaf(ca, {commonName: 'mx', hosts: ['localhost']}, Date.now());
  const nodes = await Promise.all(all.map(async answers => startApi(t, answers, await leaf())));
  return {ca, nodes};
};

/** A context with these addresses, in the order in which they are tried. */
const context = async (t: ExecutionContext, ca: Pick<KeyAndCertificate, 'cert'>, urls: string[]) => {
  const {folder} = await startApi(t, {});
  const caFile = join(folder, 'cluster.pem');
  await writeFile(caFile, ca.cert);
  const env = {XDG_CONFIG_HOME: folder, MFCTL_RETRY_FOR: '0s'};
  const flags = urls.flatMap(url => ['--url', url]);
  const added = await runCli(['context', 'add', 'cluster', ...flags, '--cacert', caFile, '--api-key-file', '-'], {
    env,
    input: keyText,
  });
  t.is(added.code, 0, added.stderr);
  return {
    env,
    caFile,
    configFile: join(folder, 'mfctl', 'config.yaml'),
    mfctl: (argv: string[], more: Record<string, string> = {}) => runCli(argv, {env: {...env, ...more}}),
  };
};

/** Received, and never answered. */
const lost: Reply = {stream: response => void response.socket?.destroy()};

test('a node that is not there is passed over with one line, for all that a command asks', async t => {
  const [dead, other] = [await nothingThere(), await nothingThere()];
  const {ca, nodes} = await startNodes(t, {'GET /domains': {data: [domain]}, [`GET /domains/${domain.id}`]: {data: domain}});
  const [node] = nodes as [(typeof nodes)[0]];
  const {mfctl} = await context(t, ca, [dead, other, node.url]);

  const got = await mfctl(['domain', 'get', 'example.com', '-o', 'name']);
  const quiet = await mfctl(['domain', 'list', '-q', '-o', 'name']);

  t.deepEqual(got, {
    code: 0,
    stdout: 'example.com\n',
    stderr: `${hostOf(dead)} does not answer, asking ${hostOf(other)}\n${hostOf(other)} does not answer, asking ${hostOf(node.url)}\n`,
  });
  t.deepEqual(quiet, {code: 0, stdout: 'example.com\n', stderr: ''});
  t.true(node.requests.every(({headers}) => headers['x-api-key'] === keyText));
});

test('a node that takes connections and says nothing is passed over, too', async t => {
  const mute = (await startMute(t)).replace('http:', 'https:');
  const {ca, nodes} = await startNodes(t, {'POST /auth/api-keys': {status: 201, data: createdKey}});
  const {mfctl} = await context(t, ca, [mute, ...nodes.map(({url}) => url)]);

  const {code, stderr} = await mfctl(['key', 'create', '--name', 'x', '--scope', 'read-only']);

  t.is(code, 0, stderr);
  t.regex(stderr, new RegExp(`^${hostOf(mute)} does not answer, asking ${hostOf(nodes[0]?.url ?? '')}\n`));
});

test('when none answers all are named', async t => {
  const urls = [await nothingThere(), await nothingThere()];
  const {mfctl} = await context(t, await createAuthority(Date.now()), urls);

  const {code, stderr} = await mfctl(['domain', 'list']);

  t.is(code, 7);
  for (const url of urls) t.true(stderr.includes(`cannot reach ${hostOf(url)}: nothing listens there`), stderr);
  t.regex(stderr, /^error: no node answers: .*\(unreachable\)\nhint: mfctl context list -o wide/m);
});

test('what is safe to repeat is asked of the next node when the answer is lost, and nothing else is', async t => {
  const safe = [
    [['quarantine', 'list'], 'GET /mail/quarantine', {data: [mail]}],
    [['quarantine', 'release', 'mx1/aaaaaa'], 'POST /mail/quarantine/mx1/aaaaaa/release', {data: outcome('aaaaaa')}],
    [
      ['quarantine', 'discard', 'mx1/aaaaaa', 'mx1/bbbbbb'],
      'POST /mail/quarantine/discard',
      {data: ['aaaaaa', 'bbbbbb'].map(outcome)},
    ],
    [['key', 'revoke', '7', '--yes'], 'POST /auth/api-keys/7/revoke', {data: key}],
    [['quarantine', 'body', 'mx1/aaaaaa'], 'GET /mail/quarantine/mx1/aaaaaa/body', {raw: 'Subject: x\r\n\r\n'}],
  ] as const;
  const unsafe = [
    [['key', 'create', '--name', 'x', '--scope', 'read-only'], 'POST /auth/api-keys', {status: 201, data: createdKey}],
    [['domain', 'create', 'a.example', '--backend', 'b:25'], 'POST /domains', {status: 201, data: domain}],
    [['cluster', 'token'], 'POST /cluster/tokens', {status: 201, data: {}}],
    [['domain', 'delete', '7', '--yes'], `DELETE /domains/${domain.id}`, {data: null}],
    [['domain', 'update', '7', '--active'], `PUT /domains/${domain.id}`, {data: domain}],
  ] as const;
  const found = {'GET /auth/api-keys': {data: [key]}, 'GET /domains/7': {data: domain}};

  for (const [argv, request, answer] of [...safe, ...unsafe]) {
    const {ca, nodes} = await startNodes(t, {...found, [request]: lost}, {...found, [request]: answer});
    const {mfctl} = await context(
      t,
      ca,
      nodes.map(({url}) => url),
    );
    const isSafe = safe.some(one => one[1] === request);

    const {code, stderr} = await mfctl([...argv]);

    t.is(code, isSafe ? 0 : 7, `${argv.join(' ')}: ${stderr}`);
    t.is(nodes[1]?.requests.length, isSafe ? 1 : 0, argv.join(' '));
  }
});

test('what changes something goes to the next node when nothing of it has left', async t => {
  const {ca, nodes} = await startNodes(t, {'POST /domains': {status: 201, data: domain}});
  const {mfctl} = await context(t, ca, [await nothingThere(), ...nodes.map(({url}) => url)]);

  const {code} = await mfctl(['domain', 'create', 'example.com', '--backend', 'b:25', '-q']);

  t.is(code, 0);
  t.is(nodes[0]?.requests.length, 1);
});

test('an answer that refuses is an answer: nobody else is asked', async t => {
  const refusals: [status: number, code: string, exit: number][] = [
    [401, 'key_invalid', 4],
    [403, 'insufficient_scope', 4],
    [429, 'rate_limited', 7],
    [503, 'unavailable', 7],
    [500, 'internal', 1],
  ];
  for (const [status, code, exit] of refusals) {
    const refusal = {status, error: {code, detail: 'no'}, headers: {'retry-after': '5'}};
    const {ca, nodes} = await startNodes(t, {'GET /domains': refusal}, {'GET /domains': {data: []}});
    const {mfctl} = await context(
      t,
      ca,
      nodes.map(({url}) => url),
    );

    t.is((await mfctl(['domain', 'list'])).code, exit, code);
    t.is(nodes[1]?.requests.length, 0);
  }
});

test('a node that was removed from its cluster has done nothing, and the next is asked', async t => {
  const removed = {status: 503, error: {code: 'unavailable', detail: 'removed'}, headers: {'retry-after': '3600'}};
  const {ca, nodes} = await startNodes(t, {'POST /domains': removed}, {'POST /domains': {status: 201, data: domain}});
  const {mfctl} = await context(
    t,
    ca,
    nodes.map(({url}) => url),
  );

  const {code, stderr} = await mfctl(['domain', 'create', 'example.com', '--backend', 'b:25']);

  t.is(code, 0);
  t.regex(stderr, /^localhost:\d+ was removed from its cluster, asking localhost:\d+\n$/);
});

test('a certificate that is not trusted ends it, wherever it is shown, and no key goes there', async t => {
  const {ca, nodes} = await startNodes(t, {'GET /domains': {data: []}});
  const {nodes: strangers} = await startNodes(t, {'GET /domains': {data: []}});
  const [good, stranger] = [nodes[0]?.url ?? '', strangers[0]?.url ?? ''];

  for (const urls of [
    [stranger, good],
    [await nothingThere(), stranger, good],
  ]) {
    const {mfctl} = await context(t, ca, urls);
    const {code, stderr} = await mfctl(['domain', 'list']);

    t.is(code, 7);
    t.regex(stderr, /\(tls_untrusted\)/);
  }
  t.is((nodes[0]?.requests.length ?? 0) + (strangers[0]?.requests.length ?? 0), 0);
});

test('an address that is given means just that one', async t => {
  const {ca, nodes} = await startNodes(t, {'GET /domains': {data: []}});
  const {mfctl} = await context(t, ca, [await nothingThere(), ...nodes.map(({url}) => url)]);
  const dead = await nothingThere();

  t.is((await mfctl(['domain', 'list', '--url', dead])).code, 7);
  t.is((await mfctl(['domain', 'list'], {MFCTL_URL: dead})).code, 7);
  t.is(nodes[0]?.requests.length, 0);
  t.is((await mfctl(['domain', 'list'])).code, 0);
});

test('under another certificate than that of the context only its first address is asked', async t => {
  const {ca, nodes} = await startNodes(t, {'GET /domains': {data: []}});
  const {mfctl, caFile} = await context(t, ca, [await nothingThere(), ...nodes.map(({url}) => url)]);
  const copy = `${caFile}.copy`;
  await writeFile(copy, ca.cert);

  t.is((await mfctl(['domain', 'list', '--cacert', copy])).code, 7);
  t.is((await mfctl(['domain', 'list'], {MFCTL_CACERT: copy})).code, 7);
  t.is(nodes[0]?.requests.length, 0);
  t.is((await mfctl(['domain', 'list', '--cacert', caFile])).code, 0);
});

test('events and completion move on as well, and completion says nothing', async t => {
  const event = {type: 'health', at: '2026-03-01T11:00:00.000Z', node_id: 'mx2', from: 'online', to: 'stale'};
  const {ca, nodes} = await startNodes(t, {
    'GET /domains': {data: [domain]},
    'GET /events': {
      headers: {'content-type': 'text/event-stream'},
      stream: response => void response.write(`event: health\ndata: ${JSON.stringify(event)}\n\n`),
    },
  });
  const {mfctl} = await context(t, ca, [await nothingThere(), ...nodes.map(({url}) => url)]);

  const events = await mfctl(['events', '--limit', '1', '-o', 'name']);
  const completed = await mfctl(['__complete', '--', 'domain', 'get', 'ex']);

  t.is(events.stdout, 'mx2\n');
  t.regex(events.stderr, /^localhost:\d+ does not answer, asking localhost:\d+\n$/);
  t.deepEqual(completed, {code: 0, stdout: 'example.com\tinbound\n', stderr: ''});
});

test('contexts are kept so that mfctl 0.4 reads them, and what it wrote is read', async t => {
  const urls = ['https://mx1.example.com:8443', 'https://mx2.example.com:8443'];
  const {mfctl, configFile} = await context(t, await createAuthority(Date.now()), [...urls, urls[0] ?? '']);
  const listed = async () => JSON.parse((await mfctl(['context', 'list', '-o', 'json'])).stdout)[0];

  const text = await readFile(configFile, 'utf8');
  t.regex(
    text,
    /^ {4}url: https:\/\/mx1\.example\.com:8443\n {4}urls:\n {6}- https:\/\/mx1\.\S+\n {6}- https:\/\/mx2\.\S+\n {4}cacert: /m,
  );
  t.like(await listed(), {url: urls[0], urls});
  t.regex((await mfctl(['context', 'list', '-o', 'wide'])).stdout, /https:\/\/mx1\.example\.com:8443, https:\/\/mx2/);

  await writeFile(configFile, text.replace(/ {4}urls:\n(?: {6}- .*\n)+/, ''));
  t.like(await listed(), {url: urls[0], urls: [urls[0]]});

  // Edited by hand or by version 0.4: the other addresses belong to the previous cluster.
  await writeFile(configFile, text.replace('url: https://mx1', 'url: https://elsewhere'));
  t.like(await listed(), {urls: ['https://elsewhere.example.com:8443']});

  await writeFile(configFile, text.replace(/urls:\n.*\n/, 'urls:\n      - 5\n'));
  t.regex((await mfctl(['context', 'list'])).stderr, /contexts\.cluster\.urls must be a list of addresses that begins with url/);
});

const status = (...others: string[]) => ({
  data: {
    ...clusterStatus([peer('mx1'), ...others.map((api_url, at) => ({...peer(`mx${at + 2}`), api_url}))]),
    local_node_id: 'mx1',
  },
});

const meWith = (...permissions: string[]) => ({data: {...key, permissions, node_id: 'mx1'}});

/** The context that a login to the first node stores. */
const logIn = async (t: ExecutionContext, answers: Answers, login: {flags?: string[]; isPublic?: boolean} = {}) => {
  const {ca, nodes} = await startNodes(t, answers);
  const [node] = nodes as [(typeof nodes)[0]];
  const caFile = join(node.folder, 'cluster.pem');
  await writeFile(caFile, ca.cert);
  const env = {XDG_CONFIG_HOME: node.folder, MFCTL_API_KEY: keyText, MFCTL_RETRY_FOR: '0s'};
  const {code, stderr} = await runCli(['login', node.url, ...(login.flags ?? ['--cacert', caFile])], {env});
  t.is(code, 0, stderr);
  const [known] = JSON.parse((await runCli(['context', 'list', '-o', 'json'], {env})).stdout);
  return {urls: known.urls.slice(1) as string[], stderr, node, env};
};

test('a login learns the other nodes, and only what is the plain address of one', async t => {
  const odd = [
    ...[
      'http://mx9.example.com:8443',
      'https://user:pw@mx9.example.com',
      'https://mx9.example.com/path',
      'https://mx9.example.com?x=1',
    ],
    ...['https://mx9.example.com#x', 'ftp://mx9.example.com', 'nonsense', '', 'https://mx_9..example.com', 'https://[::1'],
  ];
  const claims = ['https://mx2.example.com:8443', ...odd, 'https://mx2.example.com:8443/', 'HTTPS://MX3.example.com:443'];

  const {urls} = await logIn(t, {'GET /auth/me': meWith('me:read', 'cluster:read'), 'GET /cluster/status': status(...claims)});

  t.deepEqual(urls, ['https://mx2.example.com:8443', 'https://mx3.example.com']);
});

test('a login forgets what the one before has learned', async t => {
  let others = ['https://mx2.example.com:8443', 'https://mx3.example.com:8443'];
  const answers = {'GET /auth/me': meWith('cluster:read'), 'GET /cluster/status': () => status(...others)};
  const {urls, node, env} = await logIn(t, answers);

  others = ['https://mx3.example.com:8443'];
  const again = await runCli(['login', node.url, '--cacert', join(node.folder, 'cluster.pem'), '-o', 'json'], {env});

  t.is(urls.length, 2);
  t.deepEqual(JSON.parse(again.stdout).urls, [node.url, ...others]);
});

test('a key that may not read the status learns nothing, and asks for nothing', async t => {
  const {urls, node} = await logIn(t, {
    'GET /auth/me': meWith('me:read', 'quarantine:read'),
    'GET /cluster/status': status('https://mx2:1'),
  });

  t.deepEqual(urls, []);
  t.true(node.requests.every(({path}) => path !== '/cluster/status'));
});

test('a status that cannot be had does not keep anybody from a login', async t => {
  const {urls, stderr} = await logIn(t, {
    'GET /auth/me': meWith('cluster:read'),
    'GET /cluster/status': {status: 503, error: {code: 'unavailable', detail: 'busy'}},
  });

  t.deepEqual(urls, []);
  t.regex(stderr, /warning: the addresses of the other nodes could not be read: busy\n/);
});

import {readFile, stat} from 'node:fs/promises';
import {createServer} from 'node:http';
import type {AddressInfo} from 'node:net';
import {join} from 'node:path';
import test from 'ava';
import type {ApiKey} from '../../shared/api-key.ts';
import type {Domain} from '../../shared/domain.ts';
import {runCli} from './fake-terminal.ts';
import {startApi} from './scripted-api.ts';

const domain: Domain = {
  id: 1_000_000_001,
  name: 'example.com',
  direction: 'inbound',
  active: true,
  backend_servers: ['mail.example.com:25', '[2001:db8::1]:25'],
  quarantine_threshold: 6,
  reject_threshold: 15,
  dkim_active: false,
  dmarc_reporting: false,
  tenant_id: null,
  created_at: '2026-03-01T09:30:00.000Z',
  updated_at: '2026-03-01T09:30:00.000Z',
};

const key: ApiKey = {
  id: 7,
  name: 'monitoring',
  key_prefix: 'mfk_3Jx9vQ2a',
  scope: 'read-only',
  rate_limit_per_minute: 6000,
  domain: null,
  last_used_at: null,
  expires_at: null,
  revoked_at: null,
  created_at: '2026-03-01T09:30:00.000Z',
};

const secret = 'mfk_SECRET';
const {last_used_at: _used, revoked_at: _revoked, created_at: _created, ...createdFields} = key;
const created = {...createdFields, key: secret};

test('whoami shows the key, what it may do and the node', async t => {
  const me = {...key, permissions: ['me:read', 'keys:read'], node_id: 'mx1'};
  const api = await startApi(t, {'GET /auth/me': {data: me}});

  const {stdout} = await api.mfctl(['whoami']);

  t.regex(stdout, /\nScope: +read-only\n/);
  t.regex(stdout, /\nPermissions: +me:read\n +keys:read\nNode: +mx1\n$/);
  t.is(api.requests[0]?.headers['x-api-key'], 'mfk_test');
});

test('key list tells active from revoked and expired', async t => {
  const keys = [key, {...key, revoked_at: key.created_at}, {...key, expires_at: '2020-01-01T00:00:00.000Z'}];
  const api = await startApi(t, {'GET /auth/api-keys': {data: keys}});

  const {stdout} = await api.mfctl(['key', 'list']);

  t.deepEqual(stdout.match(/active|revoked|expired/g), ['active', 'revoked', 'expired']);
});

test('key create prints the key once, and says that it is once', async t => {
  const api = await startApi(t, {'POST /auth/api-keys': {status: 201, data: created}});

  const {stdout, stderr} = await api.mfctl(['key', 'create', '--name', 'x', '--scope', 'read-only', '--expires-in', '1d', '-v']);

  t.is(stdout.split(secret).length, 2);
  t.regex(stderr, /not shown again/);
  t.false(stderr.includes(secret));
  const body = JSON.parse(api.requests[0]?.body ?? '');
  t.deepEqual(Object.keys(body), ['name', 'scope', 'expires_at']);
});

test('key create -q prints the key alone', async t => {
  const api = await startApi(t, {'POST /auth/api-keys': {status: 201, data: created}});

  const {stdout, stderr} = await api.mfctl(['key', 'create', '--name', 'x', '--scope', 'read-only', '-q']);

  t.deepEqual([stdout, stderr], [`${secret}\n`, '']);
});

test('key create --key-file keeps the key out of sight', async t => {
  const api = await startApi(t, {'POST /auth/api-keys': {status: 201, data: created}});
  const file = join(api.folder, 'monitoring.key');

  const {stdout} = await api.mfctl(['key', 'create', '--name', 'x', '--scope', 'read-only', '--key-file', file, '-o', 'json']);

  t.false(stdout.includes(secret));
  t.is(await readFile(file, 'utf8'), `${secret}\n`);
  t.is((await stat(file)).mode & 0o777, 0o600);
});

test('a key that could not be written is named, so that it can be removed', async t => {
  const api = await startApi(t, {'POST /auth/api-keys': {status: 201, data: created}});

  const {code, stderr} = await api.mfctl([
    'key',
    'create',
    '--name',
    'x',
    '--scope',
    'read-only',
    '--key-file',
    join(api.folder, 'no', 'file'),
  ]);

  t.is(code, 1);
  t.regex(stderr, /hint: .*mfctl key delete 7/);
  t.false(stderr.includes(secret));
});

test('revoke and delete name the nodes that have yet to hear of it', async t => {
  const headers = {'x-unreachable-nodes': 'mx2'};
  const api = await startApi(t, {
    'POST /auth/api-keys/7/revoke': {data: {...key, revoked_at: key.created_at}, headers},
    'DELETE /auth/api-keys/7': {data: null, headers},
  });

  const revoked = await api.mfctl(['key', 'revoke', '7', '--yes', '--force']);
  const deleted = await api.mfctl(['key', 'delete', '7', '--yes']);

  t.regex(revoked.stdout, /State: +revoked/);
  for (const {code, stderr} of [revoked, deleted]) {
    t.is(code, 0);
    t.regex(stderr, /warning: .*mx2/);
  }
  t.deepEqual(
    api.requests.map(({query}) => query.get('force')),
    ['true', null],
  );
});

test('the last full-admin key leads to --force', async t => {
  const conflict = {status: 409, error: {code: 'conflict', detail: 'the last full-admin key'}};
  const api = await startApi(t, {'POST /auth/api-keys/7/revoke': conflict});

  const {code, stderr} = await api.mfctl(['key', 'revoke', '7', '--yes']);

  t.is(code, 1);
  t.regex(stderr, /--force/);
});

test('a domain is found by name in any spelling, or by id', async t => {
  const api = await startApi(t, {'GET /domains': {data: [domain]}, [`GET /domains/${domain.id}`]: {data: domain}});

  for (const name of ['example.com', 'EXAMPLE.com.', String(domain.id)]) {
    const {code, stdout} = await api.mfctl(['domain', 'get', name, '-o', 'json']);

    t.is(code, 0);
    t.deepEqual(JSON.parse(stdout), domain);
  }
  t.is((await api.mfctl(['domain', 'get', 'other.example'])).code, 5);
});

test('domain create sends what was said and nothing else', async t => {
  const api = await startApi(t, {'POST /domains': {status: 201, data: domain}});

  await api.mfctl([
    'domain',
    'create',
    'example.com',
    '--backend',
    'a:25',
    '--backend',
    '[::1]:25',
    '--reject-threshold',
    '12',
    '--dkim',
    '--inactive',
    '--tenant-id',
    '42',
  ]);
  await api.mfctl(['domain', 'create', 'example.com', '--no-dkim', '--tenant-id', 'acme', '--quarantine-threshold', '-1.5']);

  t.deepEqual(
    api.requests.map(({body}) => JSON.parse(body)),
    [
      {
        name: 'example.com',
        backend_servers: ['a:25', '[::1]:25'],
        reject_threshold: 12,
        dkim_active: true,
        tenant_id: 42,
        active: false,
      },
      {name: 'example.com', quarantine_threshold: -1.5, dkim_active: false, tenant_id: 'acme'},
    ],
  );
});

test('wrong fields are listed one to a line', async t => {
  const fields = [
    {path: 'name', detail: 'must have a dot'},
    {path: 'backend_servers', detail: 'needs one'},
  ];
  const api = await startApi(t, {
    'POST /domains': {status: 422, error: {code: 'validation_failed', detail: 'some fields are wrong', fields}},
  });

  const {code, stderr} = await api.mfctl(['domain', 'create', 'x']);

  t.is(code, 1);
  t.regex(
    stderr,
    /^error: some fields are wrong \(validation_failed, request r-1\)\n {2}name: must have a dot\n {2}backend_servers: needs one\n/,
  );
});

test('domain update patches against the version it looked up', async t => {
  const api = await startApi(t, {
    'GET /domains': {data: [domain]},
    [`GET /domains/${domain.id}`]: {data: domain, headers: {etag: '"v1"'}},
    [`PUT /domains/${domain.id}`]: {data: {...domain, active: false}},
  });

  const {code} = await api.mfctl(['domain', 'update', 'example.com', '--inactive', '--no-tenant-id']);

  const put = api.requests.at(-1);
  t.is(code, 0);
  t.is(put?.headers['content-type'], 'application/merge-patch+json');
  t.is(put?.headers['if-match'], '"v1"');
  t.deepEqual(JSON.parse(put?.body ?? ''), {tenant_id: null, active: false});
});

test('a domain that somebody changed meanwhile is not overwritten', async t => {
  const api = await startApi(t, {
    [`GET /domains/${domain.id}`]: {data: domain, headers: {etag: '"v1"'}},
    [`PUT /domains/${domain.id}`]: {status: 412, error: {code: 'precondition_failed', detail: 'If-Match does not match'}},
  });

  const {code, stderr} = await api.mfctl(['domain', 'update', String(domain.id), '--dkim']);

  t.is(code, 1);
  t.regex(stderr, /hint: somebody changed it meanwhile; run the same command again/);
});

test('domain delete asks with the name, and says what it did', async t => {
  const api = await startApi(t, {
    'GET /domains': {data: [domain]},
    [`GET /domains/${domain.id}`]: {data: domain},
    [`DELETE /domains/${domain.id}`]: {data: null},
  });

  const asked = await api.mfctl(['domain', 'delete', String(domain.id)], {columns: 80, input: 'n\n'});
  const done = await api.mfctl(['domain', 'delete', 'example.com', '--yes', '-o', 'json']);

  t.is(asked.code, 3);
  t.regex(asked.stderr, /Delete example\.com with its DKIM keys/);
  t.deepEqual(done, {code: 0, stdout: '', stderr: 'deleted example.com\n'});
});

test('mail filters are added with an action and one thing to match', async t => {
  const filter = {
    id: 9,
    domain_id: domain.id,
    action: 'score',
    match: 'header',
    header: 'List-Id',
    pattern: '*x*',
    score: -3,
    comment: 'why',
    created_at: key.created_at,
  };
  const api = await startApi(t, {
    'GET /domains': {data: [domain]},
    [`POST /domains/${domain.id}/filters`]: {status: 201, data: filter},
  });

  const {code, stdout} = await api.mfctl([
    'domain',
    'filters',
    'add',
    'example.com',
    '--score',
    '-3',
    '--header',
    'List-Id: *x*',
    '--comment',
    'why',
  ]);

  t.is(code, 0);
  t.regex(stdout, /Match: +header List-Id\nPattern: +\*x\*\n/);
  t.deepEqual(JSON.parse(api.requests.at(-1)?.body ?? ''), {
    action: 'score',
    score: -3,
    match: 'header',
    header: 'List-Id',
    pattern: '*x*',
    comment: 'why',
  });
});

test('dkim create shows the record to publish', async t => {
  const dkim = {
    id: 3,
    domain_id: domain.id,
    selector: 's1',
    algorithm: 'ed25519',
    dns_name: 's1._domainkey.example.com',
    dns_record: 'v=DKIM1; k=ed25519; p=AAA',
    created_at: key.created_at,
  };
  const api = await startApi(t, {[`POST /domains/${domain.id}/dkim-keys`]: {status: 201, data: dkim}});

  const {stdout} = await api.mfctl(['domain', 'dkim', 'create', String(domain.id), '--selector', 's1', '--algorithm', 'ed25519']);

  t.true(stdout.includes('s1._domainkey.example.com. IN TXT "v=DKIM1; k=ed25519; p=AAA"'));
});

test('cluster status marks the answering node and warns of drift that lasts', async t => {
  const peer = {
    node_id: 'mx1',
    fqdn: 'mx1.example.com',
    api_url: 'https://mx1.example.com:8443',
    last_seen: key.created_at,
    healthy: 'online',
    config_hash: `sha256:${'a'.repeat(64)}`,
    config_hash_age_s: 601,
    outbox_backlog_to_us: 0,
    license: {valid: true, type: 'community', status: 'active', expires_at: '9999-12-31T23:59:59Z'},
  };
  const peers = [peer, {...peer, node_id: 'mx2', healthy: 'offline', config_hash: `sha256:${'b'.repeat(64)}`}];
  const status = {local_node_id: 'mx1', local_hostname: 'mx1', peers, generated_at: key.created_at};
  const api = await startApi(t, {'GET /cluster/status': {data: status}});

  const table = await api.mfctl(['cluster', 'status']);
  const json = await api.mfctl(['cluster', 'status', '-o', 'ndjson']);
  const coloured = await api.mfctl(['cluster', 'status'], {columns: 200});
  const plain = await api.mfctl(['cluster', 'status'], {columns: 200, env: {NO_COLOR: '1'}});

  t.regex(table.stdout, /\n\* +mx1 +mx1\.example\.com +online .*\n +mx2 /);
  t.regex(table.stderr, /warning: configuration drift/);
  t.deepEqual(JSON.parse(json.stdout), status);
  t.true(coloured.stdout.includes('\x1b[31moffline'));
  t.false(plain.stdout.includes('\x1b'));
});

test('audit shows who did what', async t => {
  const entry = {
    node_id: 'mx1',
    seq: 1,
    at: key.created_at,
    key_id: 7,
    key_name: null,
    action: 'domain.update',
    target: 'example.com',
    remote_address: '192.0.2.1',
    result: 'ok',
    detail: 'a\x1b[2Jb',
    hash: 'x',
  };
  const api = await startApi(t, {'GET /audit': {data: [entry]}});

  const {stdout} = await api.mfctl(['audit', '--key-id', '7', '--action', 'domain.update', '--limit', '1']);

  t.regex(stdout, /mx1 +7 +domain\.update +example\.com +ok +192\.0\.2\.1 +a␛\[2Jb\n$/);
  t.is(api.requests[0]?.query.toString(), 'action=domain.update&limit=1&key_id=7');
});

test('openapi prints the document as it is', async t => {
  const api = await startApi(t, {'GET /openapi.yaml': {raw: 'openapi: 3.1.0\n', headers: {'content-type': 'application/yaml'}}});

  t.is((await api.mfctl(['openapi'])).stdout, 'openapi: 3.1.0\n');
});

test('api sends any request and prints the data of the answer', async t => {
  const api = await startApi(t, {
    'PUT /domains/1': {data: {a: 1}},
    'GET /domains': {data: [1, 2]},
    'GET /openapi.yaml': {raw: 'openapi: 3.1.0\n'},
  });

  const put = await api.mfctl(['api', 'put', '/domains/1', '--data', '-'], {input: '{"x":1}'});
  const list = await api.mfctl(['api', 'GET', '/api/v1/domains?x=%20', '-o', 'ndjson']);
  const raw = await api.mfctl(['api', 'GET', 'openapi.yaml']);
  const absent = await api.mfctl(['api', 'GET', '/nothing']);

  t.is(put.stdout, '{\n  "a": 1\n}\n');
  t.is(api.requests[0]?.body, '{"x":1}');
  t.is(list.stdout, '1\n2\n');
  t.is(raw.stdout, 'openapi: 3.1.0\n');
  t.is(absent.code, 5);
});

test('api leads the key nowhere else', async t => {
  const api = await startApi(t, {});

  for (const path of ['https://evil.example/', '//evil.example/', '../../metrics', '@evil.example/'])
    await api.mfctl(['api', 'GET', path]);

  for (const {path} of api.requests) t.true(path.startsWith('/'), path);
  t.is((await api.mfctl(['api', 'GET', '../../metrics'])).code, 2);
});

test('a redirect is not followed', async t => {
  const api = await startApi(t, {'GET /domains': {status: 302, raw: '', headers: {location: 'https://evil.example/'}}});

  const {code, stderr} = await api.mfctl(['domain', 'list']);

  t.is(code, 1);
  t.regex(stderr, /http_302/);
});

test('an answer that is no envelope is an error, not a crash', async t => {
  const api = await startApi(t, {'GET /domains': {raw: '<html>'}, 'GET /auth/me': {status: 502, raw: '<html>'}});

  t.regex((await api.mfctl(['domain', 'list'])).stderr, /\(unexpected_answer\)\nhint:/);
  t.regex((await api.mfctl(['whoami'])).stderr, /\(http_502, request r-1\)\nhint:/);
});

test('a node that is not trusted, and one that is not there, exit 7 with a hint', async t => {
  const api = await startApi(t, {});

  const untrusted = await api.mfctl(['whoami'], {env: {MFCTL_CACERT: ''}});
  const absent = await api.mfctl(['whoami', '--url', 'https://127.0.0.1:1', '-o', 'json']);

  t.is(untrusted.code, 7);
  t.regex(untrusted.stderr, /\(tls_untrusted\)\nhint: .*--cacert/);
  t.is(absent.code, 7);
  t.like(JSON.parse(absent.stderr), {
    error: {code: 'unreachable', exit_code: 7, hint: 'is mfd running there? mfd start --data DIR'},
  });
});

test('verbose names each request and never the key', async t => {
  const api = await startApi(t, {'GET /domains': {data: []}});

  const {stderr} = await api.mfctl(['domain', 'list', '-v']);

  t.regex(stderr, /^GET \/api\/v1\/domains 200 \d+ ms, request r-1\n/);
  t.false(stderr.includes('mfk_'));
});

test('metrics come from their own listener, without a key', async t => {
  const paths: (string | undefined)[] = [];
  const server = createServer((request, response) => {
    paths.push(request.url);
    response.end(request.headers['x-api-key'] ? 'key!\n' : 'mfd_up 1\n');
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const env = {XDG_CONFIG_HOME: '/nonexistent'};

  const byFlag = await runCli(['metrics', '--metrics-url', url], {env});
  const byEnv = await runCli(['metrics'], {env: {...env, MFCTL_METRICS_URL: `${url}/metrics`}});
  const absent = await runCli(['metrics', '--metrics-url', 'http://127.0.0.1:1'], {env});

  t.deepEqual([byFlag.stdout, byEnv.stdout], ['mfd_up 1\n', 'mfd_up 1\n']);
  t.deepEqual(paths, ['/metrics', '/metrics']);
  t.is(absent.code, 7);
});

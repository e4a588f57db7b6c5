import {createServer} from 'node:http';
import test from 'ava';
import {runCli} from '../../helpers/cli/fake-terminal.ts';
import {key} from '../../helpers/cli/sample-records.ts';
import {startApi} from '../../helpers/cli/scripted-api.ts';
import {listening} from '../../helpers/listening.ts';

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
  const peers = [
    peer,
    {...peer, node_id: 'mx2', config_hash: `sha256:${'b'.repeat(64)}`},
    {...peer, node_id: 'mx3', healthy: 'offline'},
  ];
  const status = {local_node_id: 'mx1', local_hostname: 'mx1', peers, generated_at: key.created_at};
  const api = await startApi(t, {'GET /cluster/status': {data: status}});

  const table = await api.mfctl(['cluster', 'status']);
  const json = await api.mfctl(['cluster', 'status', '-o', 'json']);
  const coloured = await api.mfctl(['cluster', 'status'], {columns: 200});
  const plain = await api.mfctl(['cluster', 'status'], {columns: 200, env: {NO_COLOR: '1'}});

  t.regex(table.stdout, /\n\* +mx1 +mx1\.example\.com +online .*\n +mx2 /);
  t.regex(
    table.stderr,
    /warning: mx3 offline\n.*warning: mx2 configured unlike the rest; mfctl cluster drift shows what differs\n/s,
  );
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
  const url = `http://127.0.0.1:${await listening(t, server)}`;
  const env = {XDG_CONFIG_HOME: '/nonexistent'};

  const byFlag = await runCli(['metrics', '--metrics-url', url], {env});
  const byEnv = await runCli(['metrics'], {env: {...env, MFCTL_METRICS_URL: `${url}/metrics`}});
  const absent = await runCli(['metrics', '--metrics-url', 'http://127.0.0.1:1'], {env});

  t.deepEqual([byFlag.stdout, byEnv.stdout], ['mfd_up 1\n', 'mfd_up 1\n']);
  t.deepEqual(paths, ['/metrics', '/metrics']);
  t.is(absent.code, 7);
});

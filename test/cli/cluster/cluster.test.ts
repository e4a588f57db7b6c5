import test from 'ava';
import {clusterStatus, peer} from '../../helpers/cli/sample-records.ts';
import {startApi} from '../../helpers/cli/scripted-api.ts';

const created = {
  token: 'mfj1_AQID',
  expires_at: '2026-03-01T10:30:00.000Z',
  address: 'mx1.example.com:8444',
  ca_fingerprint: `sha256:${'a'.repeat(64)}`,
};

test('cluster token prints the token alone, and how to use it on standard error', async t => {
  const api = await startApi(t, {'POST /cluster/tokens': {status: 201, data: created}});

  const plain = await api.mfctl(['cluster', 'token']);
  const quiet = await api.mfctl(['cluster', 'token', '-q', '--expires-in', '1h30m']);
  const json = await api.mfctl(['cluster', 'token', '-o', 'json']);

  t.is(plain.stdout, 'mfj1_AQID\n');
  t.regex(plain.stderr, /one node join through mx1\.example\.com:8444, until 2026-03-01T10:30:00Z.*\n +mfd join - --data .*\n/);
  t.false(plain.stderr.includes(created.token));
  t.deepEqual([quiet.stdout, quiet.stderr], ['mfj1_AQID\n', '']);
  t.deepEqual(JSON.parse(json.stdout), created);
  t.deepEqual(
    api.requests.map(({body}) => JSON.parse(body)),
    [{}, {expires_in_s: 5400}, {}],
  );
});

test('cluster token says what the node says when nobody can make one', async t => {
  const error = {code: 'unavailable', detail: 'only node mx1 can let nodes in'};
  const api = await startApi(t, {'POST /cluster/tokens': {status: 503, headers: {'retry-after': '5'}, error}});

  const {code, stdout, stderr} = await api.mfctl(['cluster', 'token']);

  t.is(code, 7);
  t.is(stdout, '');
  t.regex(stderr, /only node mx1 can let nodes in \(unavailable, .*\nhint: .*mfctl cluster status/);
});

test('cluster remove asks first, names the nodes that did not answer, and passes on --force', async t => {
  const api = await startApi(t, {
    'DELETE /cluster/nodes/mx2': {},
    'DELETE /cluster/nodes/mx3': {headers: {'x-unreachable-nodes': 'mx1, mx4'}},
  });

  const silent = await api.mfctl(['cluster', 'remove', 'mx2']);
  const refused = await api.mfctl(['cluster', 'remove', 'mx2'], {input: 'n\n', columns: 80});
  const asked = await api.mfctl(['cluster', 'remove', 'mx2'], {input: 'y\n', columns: 80});
  const forced = await api.mfctl(['cluster', 'remove', 'mx3', '--yes', '--force']);
  const unknown = await api.mfctl(['cluster', 'remove', '../domains/1', '--yes']);

  t.deepEqual([silent.code, refused.code, asked.code, forced.code, unknown.code], [2, 3, 0, 0, 5]);
  t.regex(silent.stderr, /hint: repeat with --yes/);
  t.regex(asked.stderr, /Remove node mx2\? .*mail it holds.*removed node mx2/s);
  t.is(forced.stderr, 'removed node mx3\nwarning: did not answer and will follow when reachable: mx1, mx4\n');
  t.deepEqual(
    api.requests.map(({path, query}) => `${path}?${query}`),
    [
      '/cluster/nodes/mx2?',
      '/cluster/nodes/mx2?',
      '/cluster/nodes/mx2?',
      '/cluster/nodes/mx2?',
      '/cluster/nodes/mx3?',
      '/cluster/nodes/mx3?force=true',
      '/cluster/nodes/..%2Fdomains%2F1?',
      '/cluster/nodes/..%2Fdomains%2F1?',
    ],
  );
});

test('cluster remove does not ask about a node that is not there', async t => {
  const api = await startApi(t, {
    'GET /cluster/nodes/nope': {status: 404, error: {code: 'unknown_node', detail: 'there is no node nope'}},
  });

  const {code, stderr} = await api.mfctl(['cluster', 'remove', 'nope'], {input: 'y\n', columns: 80});

  t.is(code, 5);
  t.regex(stderr, /there is no node nope \(unknown_node/);
  t.deepEqual(
    api.requests.map(({method}) => method),
    ['GET'],
  );
});

for (const name of ['.', '..', ''])
  test(`no node is called ${JSON.stringify(name)}, and none is asked for`, async t => {
    const api = await startApi(t, {});

    const shown = await api.mfctl(['cluster', 'show', name]);
    const removed = await api.mfctl(['cluster', 'remove', name, '--yes']);

    for (const {code, stderr} of [shown, removed]) {
      t.is(code, 5);
      t.regex(stderr, /there is no node "\.{0,2}"/);
      t.notRegex(stderr, /http|path|request|version/);
    }
    t.deepEqual(api.requests, []);
  });

const keyOn = (id: number, name: string, changes: object = {}) => ({
  id,
  name,
  scope: 'full-admin',
  key_prefix: 'mfk_00000000',
  rate_limit_per_minute: 600,
  domain: null,
  last_used_at: null,
  expires_at: null,
  revoked_at: null,
  created_at: '2026-03-01T09:00:00.000Z',
  ...changes,
});

test('cluster remove lists the keys that were made on the node, and revokes them on demand', async t => {
  const keys = [
    keyOn(2_000_000_001, 'planted'),
    keyOn(2_000_000_002, 'old', {revoked_at: '2026-03-01T09:10:00.000Z'}),
    keyOn(2_000_000_003, 'over', {expires_at: '2026-03-01T09:10:00.000Z'}),
  ];
  const removed = {revoked_key_ids: [2_000_000_001], kept_key_ids: [2_000_000_009]};
  const api = await startApi(t, {
    'GET /cluster/nodes/mx2': {data: {node_id: 'mx2', node_no: 2, fqdn: 'mx2.test', joined_at: '', shares_store: false, keys}},
    'DELETE /cluster/nodes/mx2': ({query}) => ({data: query.get('revoke_keys') === 'true' ? removed : null}),
  });

  const unasked = await api.mfctl(['cluster', 'remove', 'mx2', '--yes']);
  const refused = await api.mfctl(['cluster', 'remove', 'mx2'], {input: ['y\n', 'n\n'], columns: 80});
  const agreed = await api.mfctl(['cluster', 'remove', 'mx2'], {input: ['y\n', 'y\n'], columns: 80});
  const told = await api.mfctl(['cluster', 'remove', 'mx2', '--yes', '--revoke-keys']);

  for (const {code, stderr} of [unasked, refused, agreed, told]) {
    t.is(code, 0);
    t.regex(stderr, /1 active key made on mx2: 2000000001 planted \(full-admin\)/);
  }
  for (const {stderr} of [unasked, refused]) t.regex(stderr, /these keys stay valid; mfctl key revoke ID/);
  for (const {stderr} of [agreed, told]) t.regex(stderr, /revoked 1 key\n.*key 2000000009 was made on mx2 and stays/s);
  for (const {stderr} of [unasked, told]) t.notRegex(stderr, /password/);
});

test('cluster remove of a node that shares the store says to change its password', async t => {
  const api = await startApi(t, {
    'GET /cluster/nodes/mx2': {data: {node_id: 'mx2', node_no: 2, fqdn: 'mx2.test', joined_at: '', shares_store: true, keys: []}},
    'DELETE /cluster/nodes/mx2': {data: null},
  });

  const {code, stderr} = await api.mfctl(['cluster', 'remove', 'mx2', '--yes']);

  t.is(code, 0);
  t.regex(stderr, /mx2 still knows the password of the store: change it in PostgreSQL, and in store\.password_file of all other/);
});

const drift = {
  local_node_id: 'mx1',
  config_hash: `sha256:${'1'.repeat(64)}`,
  nodes: [
    {node_id: 'mx2', config_hash: `sha256:${'2'.repeat(64)}`, differs_since: '2026-03-01T10:00:00.000Z', differing_records: 2},
    {node_id: 'mx3', config_hash: '', differs_since: null, differing_records: null},
  ],
  records: [
    {
      node_id: 'mx2',
      kind: 'domain',
      id: 1_000_000_001,
      name: 'example.com',
      here: 'live',
      there: 'live',
      fields: [
        {name: 'quarantine_threshold', here: 6, there: 4.5},
        {name: 'backend_servers', here: ['a:25'], there: ['b:25']},
      ],
    },
    {node_id: 'mx2', kind: 'api_key', id: 2_000_000_003, name: 'old\x1b[2J', here: 'live', there: 'deleted', fields: []},
  ],
  repairs: [{at: '2026-03-01T09:00:00.000Z', node_id: 'mx3', records: 1}],
  generated_at: '2026-03-01T10:05:00.000Z',
};

test('cluster drift names records and fields, and nodes that were not compared', async t => {
  const api = await startApi(t, {'GET /cluster/drift': {data: drift}});

  const {code, stdout, stderr} = await api.mfctl(['cluster', 'drift']);

  t.is(code, 0);
  t.is(
    stdout,
    [
      'NODE  KIND             ID  NAME         FIELD                 HERE      THERE',
      'mx2   domain   1000000001  example.com  quarantine_threshold  6         4.5',
      'mx2   domain   1000000001  example.com  backend_servers       ["a:25"]  ["b:25"]',
      'mx2   api_key  2000000003  old␛[2J      (record)              live      deleted',
      '',
    ].join('\n'),
  );
  t.regex(stderr, /warning: mx2 differs in 2 records since 2026-03-01T10:00:00Z\n/);
  t.regex(stderr, /warning: mx3 did not answer, and was not compared\n/);
  t.regex(stderr, /repaired at 2026-03-01T09:00:00Z: 1 record fetched from mx3\n/);
  t.deepEqual(JSON.parse((await api.mfctl(['cluster', 'drift', '-o', 'json'])).stdout), drift);
});

test('cluster drift says how many of the differing records it shows', async t => {
  const nodes = [
    {...drift.nodes[0], differing_records: 250},
    {...drift.nodes[0], node_id: 'mx4', differing_records: 0},
  ];
  const api = await startApi(t, {'GET /cluster/drift': {data: {...drift, nodes}}});

  const {code, stderr} = await api.mfctl(['cluster', 'drift']);

  t.is(code, 0);
  t.regex(stderr, /^2 of 250 records that differ on mx2$/m);
  t.notRegex(stderr, /on mx4/);
});

test('without a difference cluster drift says so', async t => {
  const api = await startApi(t, {'GET /cluster/drift': {data: {...drift, nodes: [], records: [], repairs: []}}});

  const {stdout, stderr} = await api.mfctl(['cluster', 'drift']);

  t.is(stdout, '');
  t.is(stderr, 'no differences\n');
});

test('cluster status accepts --all, as other lists do', async t => {
  const api = await startApi(t, {'GET /cluster/status': {data: clusterStatus([peer('mx1'), peer('mx2')])}});

  const all = await api.mfctl(['cluster', 'status', '--all']);

  t.is(all.code, 0, all.stderr);
  t.is(all.stdout, (await api.mfctl(['cluster', 'status'])).stdout);
});

test('cluster status of a node that is cut off says so, and what to do', async t => {
  const since = '2026-02-28T09:00:00.000Z';
  const api = await startApi(t, {
    'GET /cluster/status': {data: clusterStatus([{...peer('mx1'), cut_off_since: since}, peer('mx2')])},
  });

  const {code, stdout, stderr} = await api.mfctl(['cluster', 'status']);

  t.is(code, 0);
  t.regex(stdout, /mx1 .* online, cut off .*\n.* mx2 .* online {2}/);
  t.regex(stderr, /^warning: mx1 is cut off .* expired at 2026-02-28T09:00:00\.000Z: start the node that has tls\/ca\.key/);
});

test('cluster status shows what a node claims not to work without control characters, whatever it calls it', async t => {
  const claim = {
    name: '',
    domains: [],
    since: '2026-03-01T10:00:00.000Z',
    detail: 'a\u001b]0;b\u0007\u202e',
    refuses_mail: false,
  };
  const problems = ['constructor', '__proto__', '\u001b[2Jx'].map(part => ({...claim, part}));
  const api = await startApi(t, {'GET /cluster/status': {data: clusterStatus([{...peer('mx1'), problems}])}});

  const {stdout, stderr} = await api.mfctl(['cluster', 'status']);

  t.regex(stdout, /online, no constructor, no __proto__, no /);
  t.false(/[^\P{C}\n]/u.test(stdout + stderr));
});

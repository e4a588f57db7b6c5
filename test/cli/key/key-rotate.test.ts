// Failures between the first and the last step of a rotation, and the keys and contexts that exist afterwards.
import {mkdir, readFile, rm} from 'node:fs/promises';
import {join} from 'node:path';
import {Writable} from 'node:stream';
import test, {type ExecutionContext} from 'ava';
import {createContextStore} from '../../../cli/files/context-store.ts';
import {run} from '../../../cli/program.ts';
import {safeLine} from '../../../shared/safe-text.ts';
import {createFakeTerminal} from '../../helpers/cli/fake-terminal.ts';
import {domain, hostile, key} from '../../helpers/cli/sample-records.ts';
import {type Reply, startApi} from '../../helpers/cli/scripted-api.ts';

const oldKey = `${key.key_prefix}${'0'.repeat(30)}`;
const newKey = `mfk_${'N'.repeat(38)}`;
const admin = {...key, scope: 'full-admin', permissions: ['keys:write'], node_id: 'mx1'};
const {last_used_at: _used, revoked_at: _revoked, created_at: _created, ...rest} = key;
const created = {...rest, id: 12, key_prefix: newKey.slice(0, 12), key: newKey};

const denied = (code: string, status: number): Reply => ({status, error: {code, detail: 'why'}});

/** Key 7 is in use, and stored in the context `mine`; `answers` replace those of a healthy node. */
const arrange = async (t: ExecutionContext, answers: Parameters<typeof startApi>[1] = {}) => {
  const api = await startApi(t, {
    'GET /auth/api-keys': {data: [key]},
    'GET /auth/me': ({headers}) => ({data: headers['x-api-key'] === newKey ? {...admin, id: 12} : admin}),
    'POST /auth/api-keys': {status: 201, data: created},
    'POST /auth/api-keys/7/revoke': {data: {...key, revoked_at: key.created_at}},
    'POST /auth/api-keys/12/revoke': {data: {...key, id: 12, revoked_at: key.created_at}},
    'GET /cluster/status': {data: {peers: []}},
    ...answers,
  });
  const store = createContextStore({env: api.env});
  await store.put({name: 'mine', url: api.url, cacert: api.env.MFCTL_CACERT}, {key: oldKey, makeCurrent: true});
  return {
    ...api,
    store,
    rotate: (args: string[] = ['--yes'], env: Record<string, string> = {}) =>
      api.mfctl(['key', 'rotate', '7', ...args], {env: {MFCTL_API_KEY: '', ...env}}),
    changes: () =>
      api.requests.filter(({method}) => method !== 'GET').map(({path, headers}) => [path, headers['x-api-key'] === newKey]),
  };
};

test('the successor has what the old key had, and takes its place in the context before that one is revoked', async t => {
  const api = await arrange(t, {
    'POST /auth/api-keys/7/revoke': () => {
      atRevocation = api.store.keyOf('mine');
      return {data: {...key, revoked_at: key.created_at}};
    },
  });
  let atRevocation: Promise<string | undefined> = Promise.resolve(undefined);

  const {code, stdout, stderr} = await api.rotate(['--yes', '-v']);

  t.is(code, 0);
  const {body} = api.requests.find(({method}) => method === 'POST') ?? {};
  t.deepEqual(JSON.parse(body ?? ''), {name: 'monitoring', scope: 'read-only', rate_limit_per_minute: 6000});
  t.is(await atRevocation, newKey);
  t.deepEqual(api.changes(), [
    ['/auth/api-keys', false],
    ['/auth/api-keys/7/revoke', true],
  ]);
  t.false([stdout, stderr].some(text => text.includes(newKey) || text.includes(oldKey)));
  t.regex(stdout, /^ID: +12\n/);
  t.regex(stderr, /in use by the context mine\nPOST .*\nkey 7 is revoked/);
});

const several = {
  ...key,
  scope: 'domain-admin' as const,
  domains: ['kept.test', 'again.test', 'gone.test', 'last.test'],
  domain_ids: [1, 2, 3, 4],
};
const domainsNow = [
  {...domain, name: 'kept.test', id: 1},
  {...domain, name: 'again.test', id: 5},
  {...domain, name: 'last.test', id: 4},
];

const answersOf = (old: typeof several) => ({'GET /auth/api-keys': {data: [old]}, 'GET /domains': {data: domainsNow}});
const boundTo = (domain_ids: readonly number[] | undefined): Parameters<typeof startApi>[1] => ({
  'GET /auth/me': ({headers}) => ({data: headers['x-api-key'] === newKey ? {...admin, id: 12, domain_ids} : admin}),
});

test('a successor that another domain of the same name has got, while it was asked, is revoked and kept nowhere', async t => {
  const api = await arrange(t, {...answersOf(several), ...boundTo([1, 6])});

  const {code, stderr} = await api.rotate();

  t.is(code, 1);
  t.regex(
    stderr,
    /another domain has the name of one .* key 12, was revoked, and key 7 is as it was \(conflict\)\nhint: mfctl key show 7\n$/,
  );
  t.deepEqual(api.changes(), [
    ['/auth/api-keys', false],
    ['/auth/api-keys/12/revoke', false],
  ]);
  t.is(await api.store.keyOf('mine'), oldKey);
});

test('nodes that show no ids of domains rotate keys by the names', async t => {
  const {domain_ids: _ids, ...old} = several;
  const api = await arrange(t, {...answersOf(old as typeof several), ...boundTo(undefined)});

  t.is((await api.rotate()).code, 0);
});

test('the successor of a key for several domains has those that are left, and none that only has the name of one', async t => {
  const api = await arrange(t, {...answersOf(several), ...boundTo([1, 4])});

  const {code, stderr} = await api.rotate();

  t.is(code, 0);
  const {body} = api.requests.find(({method}) => method === 'POST') ?? {};
  t.like(JSON.parse(body ?? ''), {scope: 'domain-admin', domains: ['kept.test', 'last.test']});
  t.regex(stderr, /the new key is not for again\.test, gone\.test: the old key's domains of these names are gone/);
});

test('a key whose only domain is gone has no successor, even when another domain has its name', async t => {
  const old = {...key, scope: 'domain-admin' as const, domain: 'again.test', domains: ['again.test'], domain_ids: [2]};
  const api = await arrange(t, {'GET /auth/api-keys': {data: [old]}, 'GET /domains': {data: domainsNow}});

  const {code, stderr} = await api.rotate();

  t.is(code, 1);
  t.regex(stderr, /key 7 is for again\.test, which is gone/);
  t.deepEqual(api.changes(), []);
});

test('with an overlap the old key is given an end, and the answer says which', async t => {
  const end = '2030-01-01T00:00:00.000Z';
  const api = await arrange(t, {'POST /auth/api-keys/7/revoke': {data: {...key, expires_at: end}}});
  const before = Date.now();

  const {code, stderr} = await api.rotate(['--yes', '--overlap', '24h']);

  t.is(code, 0);
  const {at} = JSON.parse(api.requests.at(-1)?.body ?? '') as {at: string};
  t.true(Date.parse(at) >= before + 86_400_000 && Date.parse(at) <= Date.now() + 86_400_000);
  t.regex(stderr, /key 7 ends at 2030-01-01/);
});

test('a key with an end gets a successor with the same lifetime, unless another one is given', async t => {
  const ending = {...key, expires_at: '2026-03-11T09:30:00.000Z'};
  const api = await arrange(t, {'GET /auth/api-keys': {data: [ending]}});
  const end = () =>
    (JSON.parse(api.requests.findLast(({path}) => path === '/auth/api-keys')?.body ?? '') as {expires_at: string}).expires_at;

  await api.rotate();
  const same = Date.parse(end());
  await api.rotate(['--yes', '--expires-at', '2099-01-01']);

  t.true(Math.abs(same - Date.now() - 10 * 86_400_000) < 60_000);
  t.is(end(), '2099-01-01T00:00:00.000Z');
});

test('it asks before anything is changed, and says what will become of the old key', async t => {
  const api = await arrange(t);
  const env = {MFCTL_API_KEY: ''};

  const refused = await api.mfctl(['key', 'rotate', '7'], {env, columns: 200, input: 'n\n'});
  const overlapping = await api.mfctl(['key', 'rotate', '7', '--overlap', '2h'], {env, columns: 200, input: 'n\n'});
  const nobody = await api.rotate([]);

  t.deepEqual([refused.code, overlapping.code, nobody.code], [3, 3, 2]);
  t.regex(
    refused.stderr,
    /Rotate key 7 \(monitoring, read-only\)\? It is refused at once\. The new one takes its place in mine\. \[y\/N\]/,
  );
  t.regex(overlapping.stderr, /It is good for another 2h\./);
  t.deepEqual(api.changes(), []);
});

test('a successor that does not work is revoked, and the old key and the context stay', async t => {
  const api = await arrange(t, {
    'GET /auth/me': ({headers}) => (headers['x-api-key'] === newKey ? denied('internal', 500) : {data: admin}),
  });

  const {code, stderr} = await api.rotate();

  t.is(code, 1);
  t.regex(stderr, /the successor, key 12, was revoked, and key 7 is as it was \(internal/);
  t.is(await api.store.keyOf('mine'), oldKey);
  t.deepEqual(api.changes().at(-1), ['/auth/api-keys/12/revoke', false]);
});

test('a successor that could not be revoked either is named with what to type', async t => {
  const api = await arrange(t, {
    'GET /auth/me': ({headers}) => ({data: headers['x-api-key'] === newKey ? {...admin, id: 99} : admin}),
    'POST /auth/api-keys/12/revoke': denied('internal', 500),
  });

  const {code, stderr} = await api.rotate();

  t.is(code, 1);
  t.regex(stderr, /key 99; key 7 is as it was; the successor, key 12, is there still .*\nhint: mfctl key revoke 12\n/);
});

test('a node that does not know the successor yet is asked again', async t => {
  let asked = 0;
  const api = await arrange(t, {
    'GET /auth/me': ({headers}) => {
      if (headers['x-api-key'] !== newKey) return {data: admin};
      asked += 1;
      return asked < 3 ? denied('key_invalid', 401) : {data: {...admin, id: 12}};
    },
  });

  const {code} = await api.rotate();

  t.is(code, 0);
  t.is(asked, 3);
});

test('when the old key could not be ended both are good, the context has the new one, and it is said how to go on', async t => {
  const api = await arrange(t, {'POST /auth/api-keys/7/revoke': denied('outcome_unknown', 504)});

  const {code, stderr} = await api.rotate();

  t.is(code, 7);
  t.regex(stderr, /the successor, key 12, is good, and key 7 may be still .*\nhint: mfctl key revoke 7\n/);
  t.is(await api.store.keyOf('mine'), newKey);
});

test('when the new key cannot be kept the old one is not ended', async t => {
  const api = await arrange(t, {
    'POST /auth/api-keys': async () => {
      // From here on the context file is a folder.
      await rm(join(api.folder, 'mfctl', 'config.yaml'));
      await mkdir(join(api.folder, 'mfctl', 'config.yaml'));
      return {status: 201, data: created};
    },
  });

  const {code, stderr} = await api.rotate();

  t.is(code, 1);
  t.regex(stderr, /key 7 is as it was; its successor, key 12, is kept nowhere .*\nhint: mfctl key revoke 12\n/);
  t.false(api.changes().some(([path]) => path === '/auth/api-keys/7/revoke'));
});

test('a key in no context is shown once, before the old one is ended', async t => {
  const api = await arrange(t, {'POST /auth/api-keys/7/revoke': denied('internal', 500)});
  await api.store.remove('mine');
  const env = {MFCTL_API_KEY: oldKey};

  const shown = await api.rotate(['--yes'], env);
  const alone = await api.rotate(['--yes', '-q'], env);
  const json = await api.rotate(['--yes', '-o', 'json'], env);

  t.is(shown.stdout.split(newKey).length, 2);
  t.regex(shown.stderr, /Keep the key now/);
  t.is(alone.stdout, `${newKey}\n`);
  t.like(JSON.parse(json.stdout), {id: 12, key: newKey, replaces: 7, contexts: []});
});

test('a key that nobody has read on standard output does not end the old one', async t => {
  const api = await arrange(t);
  await api.store.remove('mine');
  const terminal = createFakeTerminal({env: {...api.env, MFCTL_API_KEY: oldKey}});
  const broken = new Writable({write: (_chunk, _encoding, done) => done(Object.assign(new Error('broken'), {code: 'EPIPE'}))});
  broken.on('error', () => undefined);

  const code = await run(['key', 'rotate', '7', '--yes'], {...terminal, stdout: broken});

  t.is(code, 1);
  t.regex(terminal.err(), /has not taken the new key \(EPIPE\); key 7 is as it was; .*\nhint: mfctl key revoke 12\n/);
  t.false(terminal.err().includes(newKey));
  t.deepEqual(
    api.changes().map(([path]) => path),
    ['/auth/api-keys'],
  );
});

test('a key that no format would show is not made', async t => {
  const api = await arrange(t);
  await api.store.remove('mine');
  const env = {MFCTL_API_KEY: oldKey};

  const named = await api.rotate(['--yes', '-o', 'name'], env);
  const picked = await api.rotate(['--yes', '--json', 'id'], env);

  t.deepEqual([named.code, picked.code], [2, 2]);
  t.regex(named.stderr, /the new key would never be shown .*\nhint: add --key-file FILE/);
  t.deepEqual(api.changes(), []);
});

test('no name of a key says anything to the terminal in a question', async t => {
  const api = await arrange(t, {'GET /auth/api-keys': {data: [{...key, name: hostile}]}});

  const {stderr} = await api.mfctl(['key', 'rotate', '7'], {env: {MFCTL_API_KEY: ''}, columns: 200, input: 'n\n'});

  t.regex(stderr, /Rotate key 7 \(Win/);
  t.true(stderr.includes(safeLine(hostile)));
});

test('a key file takes the key, is not overwritten, and goes again when there is no key', async t => {
  const api = await arrange(t);
  await api.store.remove('mine');
  const env = {MFCTL_API_KEY: oldKey};
  const file = join(api.folder, 'new.key');

  const written = await api.rotate(['--yes', '--key-file', file], env);
  const taken = await api.rotate(['--yes', '--key-file', file], env);

  t.is(await readFile(file, 'utf8'), `${newKey}\n`);
  t.false([written.stdout, written.stderr].some(text => text.includes(newKey)));
  t.regex(written.stderr, /warning: MFCTL_API_KEY still has the old key/);
  t.is(taken.code, 1);
  t.regex(taken.stderr, /exists already.*\nhint: no key was made/);
  t.is(api.changes().length, 2);
});

test('a context of another cluster is never given the key, however alike the old one begins', async t => {
  const api = await arrange(t, {'GET /cluster/status': {data: {peers: [{api_url: 'https://mx2.example:8443/'}]}}});
  const alike = `${key.key_prefix}${'X'.repeat(30)}`;
  await api.store.put({name: 'peer', url: 'https://mx2.example:8443'}, {key: alike, makeCurrent: false});
  await api.store.put({name: 'foreign', url: 'https://evil.example:8443'}, {key: alike, makeCurrent: false});
  await api.store.put({name: 'other', url: api.url}, {key: 'mfk_other', makeCurrent: false});

  const {code, stderr} = await api.rotate();

  t.is(code, 0);
  t.is(await api.store.keyOf('peer'), newKey);
  t.is(await api.store.keyOf('foreign'), alike);
  t.is(await api.store.keyOf('other'), 'mfk_other');
  t.regex(stderr, /warning: the context foreign has a key with the same beginning/);
});

test('a node that says every key begins like the one to rotate gets at no context', async t => {
  const api = await arrange(t, {
    'GET /auth/api-keys': {data: [{...key, key_prefix: ''}]},
    'GET /cluster/status': {data: {peers: [{api_url: 'https://mx1.other.example:8443/'}]}},
  });
  await api.store.remove('mine');
  await api.store.put({name: 'other', url: 'https://mx1.other.example:8443'}, {key: 'mfk_other', makeCurrent: false});

  await api.rotate(['--yes'], {MFCTL_API_KEY: oldKey});

  t.is(await api.store.keyOf('other'), 'mfk_other');
});

test('the very key in use is replaced under any address', async t => {
  const api = await arrange(t);
  await api.store.put({name: 'tunnel', url: 'https://localhost:9'}, {key: oldKey, makeCurrent: false});

  await api.rotate();

  t.is(await api.store.keyOf('tunnel'), newKey);
  t.false(api.requests.some(({path}) => path === '/cluster/status'));
});

test('a key that may not make keys is told which may, before any question', async t => {
  const reader = await arrange(t, {'GET /auth/me': {data: {...admin, scope: 'read-only', permissions: []}}});
  const blind = await arrange(t, {'GET /auth/api-keys': denied('insufficient_scope', 403)});
  const late = await arrange(t, {'POST /auth/api-keys': denied('insufficient_scope', 403)});

  for (const api of [reader, blind, late]) {
    const {code, stderr} = await api.rotate();

    t.is(code, 4);
    t.regex(stderr, /\(insufficient_scope.*\nhint: only a full-admin key can rotate keys/);
  }
  t.deepEqual(reader.changes(), []);
});

test('a key that is unknown or revoked, or would outlive its successor, is not rotated', async t => {
  const api = await arrange(t, {'GET /auth/api-keys': {data: [key, {...key, id: 8, revoked_at: key.created_at}]}});
  const env = {MFCTL_API_KEY: ''};

  const unknown = await api.mfctl(['key', 'rotate', '9', '--yes'], {env});
  const revoked = await api.mfctl(['key', 'rotate', '8', '--yes'], {env});
  const outlived = await api.rotate(['--yes', '--overlap', '2d', '--expires-in', '1d']);

  t.deepEqual([unknown.code, revoked.code, outlived.code], [5, 1, 2]);
  t.regex(outlived.stderr, /would end before the old key/);
  t.deepEqual(api.changes(), []);
});

test('the key may come from standard input', async t => {
  const api = await arrange(t);
  await api.store.remove('mine');

  const {code, stdout} = await api.mfctl(['key', 'rotate', '7', '--yes', '-q', '--api-key-file', '-'], {input: `${oldKey}\n`});

  t.is(code, 0);
  t.is(stdout, `${newKey}\n`);
});

test('key revoke takes a time to come', async t => {
  const api = await arrange(t);

  await api.mfctl(['key', 'revoke', '7', '--yes', '--at', '2099-01-01']);
  const asked = await api.mfctl(['key', 'revoke', '7', '--in', '2h'], {columns: 200, input: 'n\n'});

  t.deepEqual(JSON.parse(api.requests.find(({method}) => method === 'POST')?.body ?? ''), {at: '2099-01-01T00:00:00.000Z'});
  t.regex(asked.stderr, /is refused from \d{4}-/);
});

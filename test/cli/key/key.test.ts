import {mkdirSync, rmSync} from 'node:fs';
import {readFile, stat, writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import test from 'ava';
import {domain, key} from '../../helpers/cli/sample-records.ts';
import {startApi} from '../../helpers/cli/scripted-api.ts';

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

test('a key is made for each --domain, and for one as nodes of 0.8 know it', async t => {
  const domains = ['one.test', 'two.test', 'three.test'];
  const api = await startApi(t, {'POST /auth/api-keys': {status: 201, data: {...created, scope: 'domain-admin', domains}}});
  const create = async (names: string[]) =>
    api.mfctl(['key', 'create', '--name', 'x', '--scope', 'domain-admin', ...names.flatMap(name => ['--domain', name])]);

  const {stdout} = await create(domains);
  await create(['one.test']);

  t.regex(stdout, /\nDomains: +one\.test\n +two\.test\n +three\.test\nPer minute/);
  t.deepEqual(
    api.requests.map(({body}) => JSON.parse(body)),
    [
      {name: 'x', scope: 'domain-admin', domains},
      {name: 'x', scope: 'domain-admin', domain: 'one.test'},
    ],
  );
});

test('key list shows the first domain of a key and how many more, key show all of them', async t => {
  const several = {...key, scope: 'domain-admin', domains: ['one.test', 'two.test', 'three.test']};
  const {domains: _, ...earlier} = {...key, id: 8, name: 'of 0.8', scope: 'domain-admin', domain: 'four.test'};
  const api = await startApi(t, {'GET /auth/api-keys': {data: [several, earlier]}});

  const list = await api.mfctl(['key', 'list']);
  const shown = await api.mfctl(['key', 'show', 'monitoring']);

  t.regex(list.stdout, /domain-admin +one\.test \+2 /);
  t.regex(list.stdout, /domain-admin +four\.test /);
  t.regex(shown.stdout, /\nDomains: +one\.test\n +two\.test\n +three\.test\nPer minute/);
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

test('a key file that is there already is left as it is, and no key is made', async t => {
  const api = await startApi(t, {'POST /auth/api-keys': {status: 201, data: created}});
  const file = join(api.folder, 'monitoring.key');
  await writeFile(file, 'mine\n');
  const create = async (path: string) => api.mfctl(['key', 'create', '--name', 'x', '--scope', 'read-only', '--key-file', path]);

  const taken = await create(file);
  const nowhere = await create(join(api.folder, 'no', 'file'));

  t.is(taken.code, 1);
  t.regex(taken.stderr, /monitoring\.key: it exists already.*\nhint: no key was made/);
  t.is(await readFile(file, 'utf8'), 'mine\n');
  t.is(nowhere.code, 1);
  t.regex(nowhere.stderr, /no such file or folder/);
  t.is(api.requests.length, 0);
});

test('a key that was refused leaves no file', async t => {
  const error = {code: 'validation_failed', detail: 'name must not be empty'};
  const api = await startApi(t, {'POST /auth/api-keys': {status: 422, error}});
  const file = join(api.folder, 'monitoring.key');

  const {code} = await api.mfctl(['key', 'create', '--name', ' ', '--scope', 'read-only', '--key-file', file]);

  t.is(code, 2);
  await t.throwsAsync(stat(file), {code: 'ENOENT'});
});

test('a key that could not be written is named, so that it can be removed', async t => {
  const api = await startApi(t, {
    'POST /auth/api-keys': () => {
      rmSync(folder, {recursive: true});
      return {status: 201, data: created};
    },
  });
  const folder = join(api.folder, 'keys');
  mkdirSync(folder);

  const file = join(folder, 'monitoring.key');
  const {code, stderr} = await api.mfctl(['key', 'create', '--name', 'x', '--scope', 'read-only', '--key-file', file]);

  t.is(code, 1);
  t.regex(stderr, /hint: .*mfctl key delete 7/);
  t.false(stderr.includes(secret));
});

test('key show finds a key by name or id, and of several of one name the only active one', async t => {
  const revoked = {...key, id: 8, revoked_at: key.created_at};
  const api = await startApi(t, {
    'GET /auth/api-keys': {data: [revoked, key, {...key, id: 9, name: 'twin'}, {...key, id: 10, name: 'twin'}]},
  });
  const show = async (named: string) => api.mfctl(['key', 'show', named, '-o', 'json']);

  t.deepEqual(JSON.parse((await show(key.name)).stdout), key);
  t.deepEqual(JSON.parse((await show('8')).stdout), revoked);
  t.is((await show('nobody')).code, 5);
  const twins = await show('twin');
  t.is(twins.code, 2);
  t.regex(twins.stderr, /several keys are called twin: 9 \(.*\), 10 /);
});

test('revoke and delete name the nodes that do not know of it yet', async t => {
  const headers = {'x-unreachable-nodes': 'mx2'};
  const api = await startApi(t, {
    'GET /auth/api-keys': {data: [key]},
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
    api.requests.filter(({method}) => method !== 'GET').map(({query}) => query.get('force')),
    ['true', null],
  );
});

test('the last full-admin key leads to --force', async t => {
  const conflict = {status: 409, error: {code: 'conflict', detail: 'the last full-admin key'}};
  const api = await startApi(t, {'GET /auth/api-keys': {data: [key]}, 'POST /auth/api-keys/7/revoke': conflict});

  const {code, stderr} = await api.mfctl(['key', 'revoke', '7', '--yes']);

  t.is(code, 1);
  t.regex(stderr, /--force/);
});

test('revoke and delete ask by name and scope, and say that it is the key in use', async t => {
  const own = {...key, id: 8, key_prefix: 'mfk_test', name: 'desk', scope: 'full-admin' as const};
  const api = await startApi(t, {'GET /auth/api-keys': {data: [key, own]}});

  const other = await api.mfctl(['key', 'revoke', '7'], {columns: 80, input: 'n\n'});
  const mine = await api.mfctl(['key', 'delete', '8'], {columns: 80, input: 'n\n'});
  const unknown = await api.mfctl(['key', 'delete', '9'], {columns: 80, input: 'y\n'});

  t.true(other.stderr.includes(`Revoke key 7 (${key.name}, ${key.scope})?`), other.stderr);
  t.false(other.stderr.includes('that this command uses'));
  t.true(mine.stderr.includes('Delete key 8 (desk, full-admin)?'), mine.stderr);
  t.true(mine.stderr.includes('It is the key that this command uses.'));
  t.deepEqual([other.code, mine.code, unknown.code], [3, 3, 5]);
  t.true(api.requests.every(({method}) => method === 'GET'));
});

test('a key that was the one in use is warned of once it is revoked', async t => {
  const own = {...key, id: 8, key_prefix: 'mfk_test'};
  const api = await startApi(t, {
    'GET /auth/api-keys': {data: [key, own]},
    'POST /auth/api-keys/7/revoke': {data: {...key, revoked_at: key.created_at}},
    'POST /auth/api-keys/8/revoke': {data: {...own, revoked_at: key.created_at}},
  });

  const other = await api.mfctl(['key', 'revoke', '7', '--yes']);
  const mine = await api.mfctl(['key', 'revoke', '8', '--yes']);

  t.is(other.stderr, '');
  t.regex(mine.stderr, /^warning: this was the key in use: mfctl login/);
});

const ended = {...key, revoked_at: key.created_at};

test('a key is taken by its name as well as by its id, and what reads as a number is an id first', async t => {
  const keys = [key, {...key, id: 8, name: '7'}, {...key, id: 9, name: '2026'}];
  const api = await startApi(t, {
    'GET /auth/api-keys': {data: keys},
    ...Object.fromEntries([7, 8, 9].map(id => [`DELETE /auth/api-keys/${id}`, {data: null}])),
    'POST /auth/api-keys/7/revoke': {data: ended},
    'GET /audit': {data: []},
  });

  const deleted = await api.mfctl(['key', 'delete', key.name, '--yes']);
  for (const named of ['7', '2026']) await api.mfctl(['key', 'remove', named, '--yes']);
  await api.mfctl(['key', 'revoke', key.name, '--yes']);
  for (const named of [key.name, '2026', '12']) await api.mfctl(['audit', '--key', named]);
  const unknown = await api.mfctl(['key', 'delete', 'nobody', '--yes']);

  t.is(deleted.stderr, `deleted key 7 (${key.name})\n`);
  t.deepEqual(
    api.requests.filter(({path}) => path !== '/auth/api-keys').map(({path, query}) => path + (query.get('key_id') ?? '')),
    [
      ...['/auth/api-keys/7', '/auth/api-keys/7', '/auth/api-keys/9', '/auth/api-keys/7/revoke'],
      // These entries are the only record of a deleted key.
      ...['/audit7', '/audit9', '/audit12'],
    ],
  );
  t.is(unknown.code, 5);
  t.regex(unknown.stderr, /^error: there is no key nobody \(not_found\)/);
});

test('of several keys of one name none is taken, and their ids are listed', async t => {
  const api = await startApi(t, {'GET /auth/api-keys': {data: [key, {...key, id: 8, scope: 'full-admin'}, {...ended, id: 9}]}});

  for (const argv of [
    ['key', 'revoke'],
    ['key', 'delete'],
    ['key', 'rotate'],
    ['audit', '--key'],
  ]) {
    const {code, stderr} = await api.mfctl([...argv, key.name, ...(argv[0] === 'key' ? ['--yes'] : [])]);

    t.is(code, 2, argv.join(' '));
    t.regex(stderr, /several keys are called monitoring: 7 \(read-only, active\), 8 \(full-admin, active\)/);
  }
  t.true(api.requests.every(({path}) => path === '/auth/api-keys'));
});

test('a key that has ended is not meant where one of the same name is still good, unless it is to be deleted', async t => {
  const api = await startApi(t, {
    'GET /auth/api-keys': {data: [{...ended, id: 6}, key]},
    'POST /auth/api-keys/7/revoke': {data: ended},
  });

  const revoked = await api.mfctl(['key', 'revoke', key.name, '--yes']);
  const deleted = await api.mfctl(['key', 'delete', key.name, '--yes']);

  t.is(revoked.code, 0);
  t.is(deleted.code, 2);
  t.regex(deleted.stderr, /6 \(read-only, revoked\), 7 \(read-only, active\)/);
});

test('a domain of a key that was deleted is marked, also where another one has its name now', async t => {
  const names = {domain: null, domains: ['one.test', 'two.test', 'kept.test'], domain_ids: [1, 2, 3]};
  const bound = {...key, scope: 'domain-admin', ...names};
  const me = {...bound, permissions: ['me:read', 'domains:read'], node_id: 'mx1'};
  const api = await startApi(t, {
    'GET /auth/api-keys': {data: [bound]},
    'GET /auth/me': {data: me},
    'GET /domains': {
      data: [
        {...domain, id: 3, name: 'kept.test'},
        {...domain, id: 9, name: 'two.test'},
      ],
    },
  });

  const [shown, own, json] = [
    await api.mfctl(['key', 'show', String(key.id)]),
    await api.mfctl(['whoami']),
    await api.mfctl(['key', 'show', String(key.id), '-o', 'json']),
  ];

  for (const {stdout, stderr} of [shown, own]) {
    t.regex(stdout, /^Domains: +one\.test \(deleted\)\n +two\.test \(deleted\)\n +kept\.test$/m);
    t.is(stderr, '');
  }
  t.deepEqual(JSON.parse(json.stdout).domains, names.domains, 'data is as the node says it');
  t.regex((await api.mfctl(['key', 'list'])).stdout, /domain-admin +one\.test \(deleted\) \+2/);
});

test('a key whose domains are all deleted says so of itself, although it may read none', async t => {
  const me = {...key, scope: 'domain-admin', domain: 'one.test', domains: ['one.test'], domain_ids: [1]};
  const api = await startApi(t, {'GET /auth/me': {data: {...me, permissions: ['me:read'], node_id: 'mx1'}}});

  const {stdout, stderr} = await api.mfctl(['whoami']);

  t.regex(stdout, /^Domains: +one\.test \(deleted\)$/m);
  t.is(stderr, '');
});

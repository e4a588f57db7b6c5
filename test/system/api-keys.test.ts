import {createHash} from 'node:crypto';
import {readdir, readFile} from 'node:fs/promises';
import {join} from 'node:path';
import {setTimeout as sleep} from 'node:timers/promises';
import test from 'ava';
import knex from 'knex';
import {isApiKeyValue} from '../../shared/api-key-value.ts';
import {startNode} from '../helpers/node.ts';
import {testOwnStore} from '../helpers/test-own-store.ts';
import {useNode} from '../helpers/use-node.ts';

const node = useNode();

const recordFields =
  'created_at domain domain_ids domains expires_at id key_prefix last_used_at name rate_limit_per_minute revoked_at scope'.split(
    ' ',
  );

test('creating a key answers 201 with a value of the documented form and all of the record that is known then', async t => {
  const {status, json} = await node().api('POST', 'auth/api-keys', {body: {name: ' monitoring ', scope: 'read-only'}});

  t.is(status, 201);
  t.is(json.message, 'Created');
  const {id, key, ...rest} = json.data;
  t.regex(key, /^mfk_[0-9A-Za-z]{38}$/);
  t.true(isApiKeyValue(key));
  t.true(Number.isSafeInteger(id));
  t.deepEqual(rest, {
    key_prefix: key.slice(0, 12),
    name: 'monitoring',
    scope: 'read-only',
    rate_limit_per_minute: 600,
    domain: null,
    domains: null,
    expires_at: null,
  });
});

testOwnStore('the value of a key is nowhere on the disk, its SHA-256 is in the database', async t => {
  const {id, key} = await node().createKey('read-only');
  await node().api('GET', 'auth/me', {key});

  const files = (await readdir(node().data, {recursive: true, withFileTypes: true})).filter(entry => entry.isFile());
  const database = files.filter(({name}) => name.startsWith('mfd.db'));
  t.true(database.length >= 2, 'the database and its log');
  for (const {parentPath, name} of files) t.false((await readFile(join(parentPath, name))).includes(key), name);
  t.false(node().log().includes(key));

  const db = knex({client: 'sqlite3', connection: {filename: join(node().data, 'mfd.db')}, useNullAsDefault: true});
  const row = await db('config_record').where({kind: 'api_key', id}).first();
  await db.destroy();
  t.is(JSON.parse(row.fields).key_hash[0], createHash('sha256').update(key).digest('hex'));
});

test('the list shows every key without its value or hash', async t => {
  const made = await node().createKey('quarantine-only', {
    expires_at: '2099-01-01T02:00:00+02:00',
    rate_limit_per_minute: 1_000_000,
  });

  const {json} = await node().api('GET', 'auth/api-keys');

  for (const record of json.data) t.deepEqual(Object.keys(record).sort(), recordFields);
  const {key, ...shown} = made;
  t.like(
    json.data.find((record: {id: number}) => record.id === made.id),
    {
      ...shown,
      expires_at: '2099-01-01T00:00:00.000Z',
      last_used_at: null,
      revoked_at: null,
    },
  );
});

test('a key with wrong fields is refused with all of them listed, and nothing is created', async t => {
  const refused: [object, string[]][] = [
    [{}, ['name', 'scope']],
    [
      {name: '', scope: 'root', rate_limit_per_minute: 0, expires_at: 'soon', more: 1},
      ['expires_at', 'more', 'name', 'rate_limit_per_minute', 'scope'],
    ],
    [{name: 'x'.repeat(101), scope: 'read-only'}, ['name']],
    [{name: '  ', scope: 'read-only'}, ['name']],
    [{name: 'a\nb', scope: 'read-only'}, ['name']],
    [{name: 'broken \ud800', scope: 'read-only'}, ['name']],
    [{name: 5, scope: 'read-only'}, ['name']],
    [{name: 'x', scope: 'read-only', rate_limit_per_minute: 1_000_001}, ['rate_limit_per_minute']],
    [{name: 'x', scope: 'read-only', rate_limit_per_minute: 1.5}, ['rate_limit_per_minute']],
    [{name: 'x', scope: 'read-only', rate_limit_per_minute: '60'}, ['rate_limit_per_minute']],
    [{name: 'x', scope: 'read-only', expires_at: '2020-01-01T00:00:00Z'}, ['expires_at']],
    [{name: 'x', scope: 'read-only', expires_at: '2099-02-30T00:00:00Z'}, ['expires_at']],
    [{name: 'x', scope: 'read-only', expires_at: '9999-12-31T23:59:59-01:00'}, ['expires_at']],
    [{name: 'x', scope: 'read-only', domain: 'example.com'}, ['domain']],
    [{name: 'x', scope: 'domain-admin'}, ['domain']],
    [{name: 'x', scope: 'domain-admin', domain: null}, ['domain']],
    [{name: 'x', scope: 'domain-admin', domain: 'unknown.test', expires_at: '2020-01-01T00:00:00Z'}, ['domain', 'expires_at']],
    [{name: 'x', scope: 'read-only', domains: ['example.com']}, ['domains']],
    [{name: 'x', scope: 'domain-admin', domains: null}, ['domain']],
    [{name: 'x', scope: 'domain-admin', domains: []}, ['domains']],
    [{name: 'x', scope: 'domain-admin', domains: 'unknown.test'}, ['domains']],
    [
      {name: 'x', scope: 'domain-admin', domains: ['a.test', 5, null, 'b.test']},
      ['domains.0', 'domains.1', 'domains.2', 'domains.3'],
    ],
    [{name: 'x', scope: 'domain-admin', domains: ['a.test', 'b.test', 'a.test']}, ['domains.0', 'domains.1']],
    [{name: 'x', scope: 'domain-admin', domain: 'a.test', domains: ['a.test']}, ['domain', 'domains']],
    [{name: 'x', scope: 'read-only', id: 7, key: 'mine'}, ['id', 'key']],
    [{name: '', scope: 'domain-admin', domain: 'unknown.test', id: 7}, ['domain', 'id', 'name']],
    [{scope: 'domain-admin', expires_at: '2020-01-01T00:00:00Z'}, ['domain', 'expires_at', 'name']],
  ];

  for (const [body, paths] of refused) {
    const {status, json} = await node().api('POST', 'auth/api-keys', {body});
    t.is(status, 422, JSON.stringify(body));
    t.is(json.error.code, 'validation_failed');
    t.deepEqual(json.error.fields.map(({path}: {path: string}) => path).sort(), paths, JSON.stringify(body));
  }

  const {json} = await node().api('GET', 'auth/api-keys');
  t.false(json.data.some(({name}: {name: string}) => ['x', 'a\nb', ''].includes(name)));
});

test('a domain-admin key is bound to a domain named in any spelling', async t => {
  const domain = await node().createDomain({name: 'bücher.test'});

  const made = await node().createKey('domain-admin', {domain: 'BÜCHER.test.'});

  t.is(made.domain, domain.name);
  t.is((await node().api('GET', 'auth/me', {key: made.key})).json.data.domain, 'xn--bcher-kva.test');
});

test('a key for several domains names each once, in the order of the names, and one for a single domain is what it always was', async t => {
  const [one, two] = [await node().createDomain(), await node().createDomain()];

  const several = await node().createKey('domain-admin', {domains: [two.name, one.name.toUpperCase(), two.name]});
  const single = await node().createKey('domain-admin', {domains: [one.name, `${one.name}.`]});

  t.like(several, {domain: null, domains: [two.name, one.name]});
  t.like(single, {domain: one.name, domains: [one.name]});
  for (const [{id, key, domain, domains}, domain_ids] of [
    [several, [two.id, one.id]],
    [single, [one.id]],
  ] as const) {
    t.like((await node().api('GET', 'auth/me', {key})).json.data, {id, domain, domains, domain_ids});
    const listed: {id: number}[] = (await node().api('GET', 'auth/api-keys')).json.data;
    t.like(
      listed.find(record => record.id === id),
      {domain, domains, domain_ids},
    );
  }
});

test('a key for 101 domains is refused, however many of them exist', async t => {
  const {name} = await node().createDomain();

  const {status, json} = await node().api('POST', 'auth/api-keys', {
    body: {name: 'x', scope: 'domain-admin', domains: Array.from({length: 101}, () => name)},
  });

  t.is(status, 422);
  t.deepEqual(json.error.fields, [{path: 'domains', detail: 'must be at most 100 domains'}]);
});

test('who am I: the record without its value, what it may do, and which node answered', async t => {
  const domain = await node().createDomain();
  const expected: Record<string, string> = {
    'read-only': 'audit:read cluster:read domains:read keys:read me:read quarantine:read trace:read',
    'quarantine-only': 'me:read quarantine:act quarantine:read',
    'domain-admin': 'domains:read domains:write me:read quarantine:act quarantine:read trace:read',
    'full-admin':
      'audit:read cluster:read cluster:write domains:create domains:read domains:write keys:read keys:write me:read quarantine:act quarantine:read trace:read',
  };
  for (const scope of ['read-only', 'quarantine-only', 'domain-admin', 'full-admin'] as const) {
    const {id, key} = await node().createKey(scope, scope === 'domain-admin' ? {domain: domain.name} : {});

    const {json} = await node().api('GET', 'auth/me', {key});

    t.deepEqual(Object.keys(json.data).sort(), [...recordFields, 'node_id', 'permissions'].sort());
    t.like(json.data, {id, scope, node_id: node().node_id, domain: scope === 'domain-admin' ? domain.name : null});
    t.is(json.data.permissions.toSorted().join(' '), expected[scope]);
  }
});

test('a revoked key is refused from the very next request on, and its record stays', async t => {
  const {id, key} = await node().createKey('read-only');
  t.is((await node().api('GET', 'domains', {key})).status, 200);

  const revoked = await node().api('POST', `auth/api-keys/${id}/revoke`);
  const refused = await node().api('GET', 'domains', {key});

  t.is(revoked.status, 200);
  t.deepEqual(Object.keys(revoked.json.data).sort(), recordFields);
  t.true(Math.abs(Date.now() - Date.parse(revoked.json.data.revoked_at)) < 60_000);
  t.is(refused.status, 401);
  t.is(refused.json.error.code, 'key_revoked');
  t.truthy(refused.headers['www-authenticate']);
  t.regex(String(refused.headers.ratelimit), /^"minute";r=\d+;t=\d+$/);
  t.true((await node().api('GET', 'auth/api-keys')).json.data.some((record: {id: number}) => record.id === id));
});

test('revoke asks for no body: one that turns out empty is as good as none, whatever its type', async t => {
  for (const head of ['', 'Content-Length: 0\r\n', 'Content-Type: text/plain\r\nTransfer-Encoding: chunked\r\n']) {
    const {id} = await node().createKey('read-only');
    const auth = `X-API-Key: ${node().api_key}\r\nConnection: close\r\n`;
    const answer = await node().raw(
      `POST /api/v1/auth/api-keys/${id}/revoke HTTP/1.1\r\nHost: x\r\n${auth}${head}\r\n${head.includes('chunked') ? '0\r\n\r\n' : ''}`,
    );
    t.regex(answer, /^HTTP\/1\.1 200 /, head);
  }
});

test('revoking twice answers 200 and changes nothing', async t => {
  const {id} = await node().createKey('read-only');
  const first = await node().api('POST', `auth/api-keys/${id}/revoke`);
  await sleep(5);

  const second = await node().api('POST', `auth/api-keys/${id}/revoke`, {body: {}});

  t.is(second.status, 200);
  t.deepEqual(second.json.data, first.json.data);
  const audited = await node().api('GET', 'audit?action=key.revoke&limit=1000');
  t.is(audited.json.data.filter(({target}: {target: string}) => target === String(id)).length, 1);
});

test('a key that is revoked for later is good until then, ends on time, and the audit log names the end', async t => {
  const {id, key} = await node().createKey('read-only');
  const end = new Date(Date.now() + 5000).toISOString();

  const answer = await node().api('POST', `auth/api-keys/${id}/revoke`, {body: {at: end.replace('Z', '+00:00')}});
  const before = await node().api('GET', 'auth/me', {key});
  await sleep(Date.parse(end) - Date.now() + 10);
  const after = await node().api('GET', 'auth/me', {key});

  t.is(answer.status, 200);
  t.like(answer.json.data, {id, expires_at: end, revoked_at: null});
  t.is(before.status, 200);
  t.is(after.json.error.code, 'key_expired');
  const audited = (await node().api('GET', 'audit?action=key.revoke&limit=1000')).json.data;
  t.deepEqual(
    audited.filter(({target}: {target: string}) => target === String(id)).map(({detail}: {detail: string}) => detail),
    [`ends ${end}`],
  );
});

test('the end of a key is never put off, a revoked key stays as it is, and nothing of that is audited', async t => {
  const [soon, late] = ['2098-01-01T00:00:00.000Z', '2099-01-01T00:00:00.000Z'];
  const {id} = await node().createKey('read-only', {expires_at: soon});
  const revokeAt = async (body: object) => (await node().api('POST', `auth/api-keys/${id}/revoke`, {body})).json.data;

  t.like(await revokeAt({at: late}), {expires_at: soon, revoked_at: null});
  t.like(await revokeAt({at: soon}), {expires_at: soon, revoked_at: null});
  const revoked = await revokeAt({});
  t.deepEqual(await revokeAt({at: '2097-01-01T00:00:00Z'}), revoked);

  const audited = (await node().api('GET', 'audit?action=key.revoke&limit=1000')).json.data;
  t.is(audited.filter(({target}: {target: string}) => target === String(id)).length, 1);
});

test('a deleted key, active or revoked, is unknown and out of the list', async t => {
  const active = await node().createKey('read-only');
  const revoked = await node().createKey('read-only');
  await node().api('POST', `auth/api-keys/${revoked.id}/revoke`);

  for (const {id, key} of [active, revoked]) {
    const {status, json} = await node().api('DELETE', `auth/api-keys/${id}`);
    t.is(status, 200);
    t.is(json.data, null);
    t.is((await node().api('GET', 'auth/me', {key})).json.error.code, 'key_invalid');
    t.is((await node().api('DELETE', `auth/api-keys/${id}`)).status, 404);
    t.is((await node().api('POST', `auth/api-keys/${id}/revoke`)).status, 404);
  }

  const ids = (await node().api('GET', 'auth/api-keys')).json.data.map(({id}: {id: number}) => id);
  t.false(ids.includes(active.id) || ids.includes(revoked.id));
  t.not((await node().createKey('read-only')).id, revoked.id, 'ids are never reused');
});

test('a key is good until it expires, and from then on refused as expired', async t => {
  const end = Date.now() + 2000;
  const {key} = await node().createKey('read-only', {expires_at: new Date(end).toISOString()});

  let answer = await node().api('GET', 'auth/me', {key});
  while (answer.status === 200) {
    await sleep(100);
    answer = await node().api('GET', 'auth/me', {key});
  }

  t.true(Date.now() >= end);
  t.is(answer.status, 401);
  t.is(answer.json.error.code, 'key_expired');
});

test('the last use of a key is shown, and a refused request is none', async t => {
  const {id, key} = await node().createKey('read-only');
  const lastUse = async () =>
    (await node().api('GET', 'auth/api-keys')).json.data.find((record: {id: number}) => record.id === id).last_used_at;
  t.is(await lastUse(), null);

  const startedAt = Date.now();
  await node().api('GET', 'domains', {key});
  const used = await lastUse();
  t.true(Date.parse(used) >= startedAt && Date.parse(used) <= Date.now());

  await node().api('POST', `auth/api-keys/${id}/revoke`);
  await node().api('GET', 'domains', {key});
  t.is(await lastUse(), used);
});

test('a key that is missing, misspelt, unknown or doubled is refused with its own code', async t => {
  const {key} = await node().createKey('read-only');
  const misspelt = `${key.slice(0, -1)}${key.endsWith('0') ? '1' : '0'}`;
  const refused: [string | null, string][] = [
    [null, 'key_missing'],
    ['', 'key_missing'],
    [misspelt, 'key_invalid'],
    [key.toUpperCase(), 'key_invalid'],
    [`${key}, ${key}`, 'key_invalid'],
    [`Bearer ${key}`, 'key_invalid'],
    ['x'.repeat(8000), 'key_invalid'],
    ["' OR 1=1 --", 'key_invalid'],
  ];

  for (const [value, code] of refused) {
    const {status, json, headers} = await node().api('GET', 'auth/me', {key: value});
    t.is(status, 401);
    t.is(json.error.code, code, String(value).slice(0, 60));
    t.regex(String(headers['www-authenticate']), /^ApiKey .*X-API-Key/);
  }
});

test('wrong key ids are 400, unknown ones 404, and revoke takes no other member than at', async t => {
  const {id} = await node().createKey('read-only');
  for (const wrong of ['abc', '0', '-1', '1.5', '01', '9007199254740993', '99999999999999999999', '1e3', '%31x'])
    for (const [method, path] of [
      ['DELETE', `auth/api-keys/${wrong}`],
      ['POST', `auth/api-keys/${wrong}/revoke`],
    ] as const) {
      const {status, json} = await node().api(method, path);
      t.is(status, 400, path);
      t.is(json.error.fields[0].path, 'id');
    }
  t.is((await node().api('DELETE', 'auth/api-keys/4242')).json.error.code, 'not_found');

  for (const [body, path] of [
    [{now: true}, 'now'],
    [{at: '2020-01-01T00:00:00Z'}, 'at'],
    [{at: null}, 'at'],
    [{at: '2099-01-01'}, 'at'],
    [{at: 4_070_908_800}, 'at'],
    [[], ''],
  ] as const) {
    const {status, json} = await node().api('POST', `auth/api-keys/${id}/revoke`, {body});
    t.is(status, 422, JSON.stringify(body));
    t.like(json.error, {code: 'validation_failed', fields: {0: {path}, length: 1}});
  }
  t.is((await node().api('POST', `auth/api-keys/${id}/revoke`, {body: '{'})).status, 400);
  t.is((await node().api('POST', `auth/api-keys/${id}/revoke?force=yes`)).status, 400);
  t.is((await node().api('DELETE', `auth/api-keys/${id}?dry_run=true`)).status, 400);
  const record = (await node().api('GET', 'auth/api-keys')).json.data.find((each: {id: number}) => each.id === id);
  t.is(record.revoked_at, null);
});

test('the last full-admin key of a time to come goes only when forced', async t => {
  const {api} = await startNode(t);
  const first = (await api('GET', 'auth/me')).json.data.id;
  const [soon, later, latest] = ['2097-01-01T00:00:00.000Z', '2098-01-01T00:00:00.000Z', '2099-01-01T00:00:00.000Z'];
  const second = (await api('POST', 'auth/api-keys', {body: {name: 'second', scope: 'full-admin', expires_at: later}})).json.data;
  const revoke = async (id: number, at: string, query = '') =>
    (await api('POST', `auth/api-keys/${id}/revoke${query}`, {body: {at}})).json;

  const tooLate = await revoke(first, latest);
  const asLate = await revoke(first, later);
  const inTime = await revoke(first, soon);
  const last = await revoke(second.id, soon);
  const forced = await revoke(second.id, soon, '?force=true');

  for (const {error} of [tooLate, asLate, last]) t.is(error.code, 'conflict');
  t.regex(tooLate.error.detail, /no other full-admin key is good at that time/);
  t.is(inTime.data.expires_at, soon);
  t.is(forced.data.expires_at, soon);
  const [{detail}] = (await api('GET', 'audit?action=key.revoke')).json.data;
  t.is(detail, `ends ${soon}, forced`);
});

test('the last active full-admin key goes only when forced', async t => {
  const {api} = await startNode(t);
  const createAdmin = async (fields?: object) =>
    (await api('POST', 'auth/api-keys', {body: {name: 'second', scope: 'full-admin', ...fields}})).json.data;
  const first = (await api('GET', 'auth/me')).json.data.id;
  const end = Date.now() + 2000;
  const soonOver = await createAdmin({expires_at: new Date(end).toISOString()});
  const revoked = await createAdmin();
  await api('POST', `auth/api-keys/${revoked.id}/revoke`);
  await sleep(end - Date.now() + 10);

  for (const [method, path] of [
    ['POST', `auth/api-keys/${first}/revoke`],
    ['DELETE', `auth/api-keys/${first}`],
    ['POST', `auth/api-keys/${first}/revoke?force=false`],
  ] as const) {
    const {status, json} = await api(method, path);
    t.is(status, 409, path);
    t.is(json.error.code, 'conflict');
  }
  t.is((await api('DELETE', `auth/api-keys/${soonOver.id}`)).status, 200);
  t.is((await api('DELETE', `auth/api-keys/${revoked.id}`)).status, 200);

  const second = await createAdmin();
  const raced = await Promise.all([
    api('POST', `auth/api-keys/${second.id}/revoke`),
    api('POST', `auth/api-keys/${first}/revoke`, {key: second.key}),
  ]);
  t.is(raced.filter(({status}) => status === 200).length, 1, 'of two who revoke each other one stays');

  const isFirstLeft = raced[0].status === 200;
  const request = isFirstLeft ? {} : {key: second.key};
  t.is((await api('POST', `auth/api-keys/${isFirstLeft ? first : second.id}/revoke?force=true`, request)).status, 200);
  t.is((await api('GET', 'auth/me', request)).json.error.code, 'key_revoked');
});

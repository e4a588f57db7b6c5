// Failures between plan and change that a healthy node does not cause.
import test, {type ExecutionContext} from 'ava';
import type {Domain} from '../../../shared/domain.ts';
import type {MailFilter} from '../../../shared/mail-filter.ts';
import {clusterStatus, peer, domain as sample} from '../../helpers/cli/sample-records.ts';
import {type Reply, startApi} from '../../helpers/cli/scripted-api.ts';

const named = (id: number, name: string): Domain => ({...sample, id, name});
const [a, b, c] = [named(1, 'a.example'), named(2, 'b.example'), named(3, 'c.example')];
const filter: MailFilter = {
  id: 9,
  domain_id: 1,
  action: 'block',
  match: 'sender_domain',
  header: null,
  pattern: 'spam.example',
  score: null,
  comment: null,
  authenticated: false,
  created_at: sample.created_at,
};

const changed: Reply = {status: 412, error: {code: 'precondition_failed', detail: 'the domain has changed since it was read'}};

const arrange = async (t: ExecutionContext, answers: Parameters<typeof startApi>[1] = {}) => {
  const api = await startApi(t, {
    'GET /domains': {data: [a, b, c]},
    ...Object.fromEntries([a, b, c].map(each => [`GET /domains/${each.id}`, {data: each, headers: {etag: `"v${each.id}"`}}])),
    ...Object.fromEntries([a, b, c].map(each => [`PUT /domains/${each.id}`, {data: each}])),
    ...Object.fromEntries([a, b, c].map(each => [`GET /domains/${each.id}/filters`, {data: []}])),
    ...answers,
  });
  return {
    ...api,
    apply: (file: string, args: string[] = ['--yes'], options = {}) =>
      api.mfctl(['domain', 'apply', '-f', '-', ...args], {input: file, ...options}),
    changes: () => api.requests.filter(({method}) => method !== 'GET').map(({method, path}) => `${method} ${path}`),
  };
};

const raising = (...names: string[]) => `domains:\n${names.map(name => `  - {name: ${name}, reject_threshold: 20}\n`).join('')}`;

test('a change is made against the version that the diff was made from, and says only what differs', async t => {
  const api = await arrange(t);

  const {code, stdout} = await api.apply('domains: [{name: a.example, reject_threshold: 20, quarantine_threshold: 6}]');

  const put = api.requests.find(({method}) => method === 'PUT');
  t.is(code, 0);
  t.is(stdout, '~ a.example\n    ~ reject_threshold: 15 -> 20\n');
  t.is(put?.headers['if-match'], '"v1"');
  t.is(put?.headers['content-type'], 'application/merge-patch+json');
  t.deepEqual(JSON.parse(put?.body ?? ''), {reject_threshold: 20});
});

test('an empty retention is none: applied where there is none it changes nothing', async t => {
  const api = await arrange(t);

  for (const retention of ['{}', '{days: null}', '{by_reason: {}}', 'null']) {
    const {code, stderr} = await api.apply(`domains: [{name: a.example, retention: ${retention}}]`);
    t.is(code, 0, retention);
    t.regex(stderr, /no changes/, retention);
  }

  t.deepEqual(api.changes(), []);
});

test('what somebody changed meanwhile is not overwritten, and the others are changed all the same', async t => {
  const api = await arrange(t, {'PUT /domains/2': changed});

  const table = await api.apply(raising('a.example', 'b.example', 'c.example'));
  const json = await api.apply(raising('a.example', 'b.example', 'c.example'), ['--yes', '-o', 'json']);
  const alone = await api.apply(raising('b.example'));

  t.is(table.code, 6);
  t.regex(
    table.stderr,
    /^warning: b\.example: the domain has changed .*\n0 created, 2 updated, 0 deleted\nerror: 1 of 3 changes could not be made/,
  );
  t.like(
    (JSON.parse(json.stdout) as {change: string}[]).map(({change}) => change),
    ['updated', 'failed', 'updated'],
  );
  t.is(alone.code, 1);
  t.regex(
    alone.stderr,
    /error: b\.example: the domain has changed since it was read \(precondition_failed, request r-1\)\nhint: /,
  );
});

test('filters that changed between the diff and the change are left as they are', async t => {
  let reads = 0;
  const api = await arrange(t, {
    'GET /domains/1/filters': () => {
      reads += 1;
      return {data: reads === 1 ? [] : [filter]};
    },
  });

  const {code, stderr} = await api.apply(
    'domains: [{name: a.example, filters: [{action: block, match: sender, pattern: x@y.example}]}]',
  );

  t.is(code, 1);
  t.regex(stderr, /its mail filters have changed since they were read \(precondition_failed\)/);
  t.deepEqual(api.changes(), []);
});

test('with filters a domain has exactly those, counted; without them they are left alone', async t => {
  const api = await arrange(t, {
    'GET /domains/1/filters': {data: [filter, {...filter, id: 10}, {...filter, id: 11, pattern: 'old.example'}]},
    'POST /domains/1/filters': {status: 201, data: filter},
    'DELETE /domains/1/filters/10': {data: null},
    'DELETE /domains/1/filters/11': {data: null},
  });
  const rules = ['spam.example', 'new.example'].map(pattern => `{action: block, match: sender_domain, pattern: ${pattern}}`);

  const {code, stdout} = await api.apply(`domains: [{name: a.example, filters: [${rules.join()}]}]`);
  await api.apply('domains: [{name: a.example}]');

  t.is(code, 0);
  t.deepEqual(api.changes(), ['POST /domains/1/filters', 'DELETE /domains/1/filters/10', 'DELETE /domains/1/filters/11']);
  t.regex(stdout, /- filter: block sender_domain old\.example\n {4}\+ filter: block sender_domain new\.example\n$/);
});

test('a filter of the file without `authenticated` is the one that is there, and with it exactly that one', async t => {
  const allow = {...filter, action: 'allow', match: 'sender', pattern: 'news@b.example'} as const;
  const api = await arrange(t, {
    'GET /domains/1/filters': {data: [allow]},
    'POST /domains/1/filters': {status: 201, data: {...allow, authenticated: true}},
    'DELETE /domains/1/filters/9': {data: null},
  });
  const apply = async (more: string) =>
    api.apply(`domains: [{name: a.example, filters: [{action: allow, match: sender, pattern: news@b.example${more}}]}]`);

  const without = await apply('');
  const same = await apply(', authenticated: false');
  const unchanged = api.changes();
  const other = await apply(', authenticated: true');

  t.deepEqual([without.code, same.code, unchanged], [0, 0, []]);
  t.is(other.code, 0, other.stderr);
  t.deepEqual(api.changes(), ['POST /domains/1/filters', 'DELETE /domains/1/filters/9']);
  t.true(JSON.parse(api.requests.find(({method}) => method === 'POST')?.body ?? '').authenticated);
  t.regex(
    other.stdout,
    /- filter: allow sender news@b\.example, not authenticated\n {4}\+ filter: allow sender news@b\.example\n$/,
  );
});

test('what would fail for all others ends it, and says what was not tried', async t => {
  const api = await arrange(t, {
    'PUT /domains/2': {status: 401, error: {code: 'key_revoked', detail: 'the API key has been revoked'}},
  });

  const table = await api.apply(raising('a.example', 'b.example', 'c.example'));
  const json = await api.apply(raising('a.example', 'b.example', 'c.example'), ['--yes', '-o', 'json']);

  t.is(table.code, 4);
  t.regex(table.stderr, /^warning: 1 change was not tried\n0 created, 1 updated, 0 deleted\nerror: b\.example: the API key/);
  t.like((JSON.parse(json.stdout) as object[])[2], {change: 'failed', error: {code: 'not_tried'}});
  t.false(api.changes().includes('PUT /domains/3'));
});

test('a domain that was created without its filters is reported as such', async t => {
  const api = await arrange(t, {
    'POST /domains': {status: 201, data: named(4, 'd.example')},
    'POST /domains/4/filters': {status: 409, error: {code: 'conflict', detail: 'no more filters'}},
  });

  const {code, stderr} = await api.apply(
    'domains: [{name: d.example, backend_servers: ["d:25"], filters: [{action: block, match: sender, pattern: x@y.example}]}]',
  );

  t.is(code, 6);
  t.regex(stderr, /warning: d\.example: no more filters \(conflict\); a part of it was done/);
});

test('domains that the file does not name are deleted with --prune only, against their version, and are shown before', async t => {
  const api = await arrange(t, {'DELETE /domains/2': {data: null}, 'DELETE /domains/3': changed});

  const kept = await api.apply('domains: [{name: a.example}]');
  const before = api.changes();
  const pruned = await api.apply('domains: [{name: a.example}]', ['--prune', '--yes']);

  t.regex(kept.stderr, /^no changes\n$/);
  t.deepEqual(before, []);
  t.is(pruned.stdout, '- b.example with its DKIM keys and mail filters\n- c.example with its DKIM keys and mail filters\n');
  t.is(pruned.code, 6);
  t.deepEqual(
    api.requests.filter(({method}) => method === 'DELETE').map(({headers}) => headers['if-match']),
    ['"v2"', '"v3"'],
  );
});

test('rules between settings are held against what the domain will be, before anything is changed', async t => {
  const api = await arrange(t);

  const {code, stderr} = await api.apply(`domains:
  - {name: b.example, reject_threshold: 20}
  - {name: a.example, quarantine_threshold: 16}
  - {name: d.example, reject_threshold: 5}
`);

  t.is(code, 2);
  t.regex(stderr, /input:3: a\.example has a quarantine_threshold \(16\) above its reject_threshold \(15\)/);
  t.regex(stderr, /input:4: d\.example needs at least one entry in backend_servers/);
  t.regex(stderr, /input:4: d\.example has a quarantine_threshold \(6\) above its reject_threshold \(5\)/);
  t.deepEqual(api.changes(), []);
});

test('a file on standard input leaves nobody to ask, nor a way for the key', async t => {
  const api = await arrange(t);

  const asked = await api.apply(raising('a.example'), []);
  const dry = await api.apply(raising('a.example'), ['--dry-run']);
  const both = await api.apply(raising('a.example'), ['--yes', '--api-key-file', '-']);

  t.deepEqual([asked.code, dry.code, both.code], [2, 0, 2]);
  t.regex(asked.stderr, /hint: repeat with --dry-run .*--yes/);
  t.regex(dry.stderr, /^nothing was changed; this would update 1 domain\n$/);
  t.deepEqual(api.changes(), []);
});

test('on a terminal the diff is coloured, and hostile text in it is marked', async t => {
  const api = await arrange(t, {
    'GET /domains': {data: [{...a, tenant_id: 'x\u001b[2J'}]},
    'GET /domains/1': {data: {...a, tenant_id: 'x\u001b[2J'}, headers: {etag: '"v"'}},
  });

  const {stdout} = await api.apply('domains: [{name: a.example, tenant_id: 5}]', ['--dry-run'], {columns: 80});

  t.is(stdout, '\u001b[33m~ a.example\u001b[39m\n\u001b[33m    ~ tenant_id: "x\\u001b[2J" -> 5\u001b[39m\n');
});

test('a pattern that costs too much is refused before anything is changed, unless the node has it already', async t => {
  const pattern = '*a'.repeat(21);
  const api = await arrange(t, {'GET /domains/1/filters': {data: [{...filter, match: 'subject', pattern}]}});
  const rule = `{action: block, match: subject, pattern: '${pattern}'}`;

  const kept = await api.apply(`domains:\n  - {name: a.example, reject_threshold: 20, filters: [${rule}]}\n`);
  const before = api.changes();
  const added = await api.apply(
    `domains:\n  - {name: a.example, reject_threshold: 21}\n  - {name: b.example, filters: [${rule}]}\n`,
  );

  t.is(kept.code, 0, kept.stderr);
  t.deepEqual(before, ['PUT /domains/1']);
  t.is(added.code, 2);
  t.true(
    added.stderr.includes(`b.example has a filter whose pattern has more than 20 *; take some out: ${pattern}`),
    added.stderr,
  );
  t.deepEqual(api.changes(), before);
});

const {domain_id: _, ...forAll} = filter;
const allBlocking = (pattern: string) => `all_domains: {filters: [{action: block, match: sender_domain, pattern: ${pattern}}]}\n`;

test('with all_domains the filters for all domains are exactly those, and without it they are left alone, with --prune too', async t => {
  const api = await arrange(t, {
    'GET /filters': {data: [forAll]},
    'POST /filters': {status: 201, data: forAll},
    'DELETE /filters/9': {data: null},
  });

  const dry = await api.apply(`${allBlocking('new.example')}domains: []`, ['--dry-run']);
  const {code, stdout, stderr} = await api.apply(`${allBlocking('new.example')}domains: []`);
  const done = api.changes();
  const json = await api.apply(`${allBlocking('new.example')}domains: []`, ['--yes', '-o', 'json']);
  const same = await api.apply(`${allBlocking('spam.example')}domains: []`);
  await api.apply('domains: [{name: a.example}, {name: b.example}, {name: c.example}]', ['--yes', '--prune']);

  const rules = ['- filter: block sender_domain spam.example', '+ filter: block sender_domain new.example'];
  t.is(dry.stdout, `~ all_domains\n${rules.map(rule => `    ${rule}\n`).join('')}`);
  t.is(dry.stderr, 'nothing was changed; this would change the filters for all domains\n');
  t.is(code, 0);
  t.is(stdout, dry.stdout);
  t.is(stderr, '0 created, 1 updated, 0 deleted\n');
  t.deepEqual(done, ['POST /filters', 'DELETE /filters/9']);
  t.like(JSON.parse(json.stdout), {length: 1, 0: {domain: 'all_domains', change: 'updated', fields: {0: {name: 'filters'}}}});
  t.is(same.stderr, 'no changes\n');
  t.is(api.changes().length, 4);
});

test('a key that may not see the filters for all domains changes nothing with a file that has them', async t => {
  const error = {
    code: 'insufficient_scope',
    detail: 'the scope domain-admin does not permit this',
    required_scopes: ['full-admin'],
  };
  const api = await arrange(t, {'GET /filters': {status: 403, error}});

  const {code, stderr} = await api.apply(`${allBlocking('new.example')}${raising('a.example')}`);

  t.is(code, 4);
  t.regex(stderr, /^error: all_domains: the scope domain-admin does not permit this \(insufficient_scope/);
  t.deepEqual(api.changes(), []);
});

test('filters for all domains that changed between the diff and the change are left as they are', async t => {
  let reads = 0;
  const api = await arrange(t, {
    'GET /filters': () => {
      reads += 1;
      return {data: reads === 1 ? [] : [forAll]};
    },
  });

  const {code, stderr} = await api.apply(`${allBlocking('new.example')}domains: []`);

  t.is(code, 1);
  t.regex(stderr, /error: all_domains: its mail filters have changed since they were read/);
  t.deepEqual(api.changes(), []);
});

test('a pattern for all domains that is too costly is refused before anything changes', async t => {
  const api = await arrange(t, {'GET /filters': {data: []}});
  const rule = `{action: block, match: subject, pattern: "${'*x'.repeat(21)}"}`;

  const {code, stderr} = await api.apply(`all_domains: {filters: [${rule}]}\n${raising('a.example')}`);

  t.is(code, 2);
  t.regex(stderr, /:1: all_domains has a filter whose pattern has more than 20 \*/);
  t.deepEqual(api.changes(), []);
});

test('an export has the filters for all domains with all of them, if the key may see them, and not with some', async t => {
  const refusing = (status: number, code: string) => ({'GET /filters': {status, error: {code, detail: 'no'}}});
  const exported = async (answers: Parameters<typeof startApi>[1], ...names: string[]) => {
    const {code, stdout, stderr} = await (await arrange(t, answers)).mfctl(['domain', 'export', ...names, '-o', 'json']);
    return {code, stderr, names: code === 0 ? Object.keys(JSON.parse(stdout)) : []};
  };

  const whole = {code: 0, stderr: '', names: ['all_domains', 'domains']};
  const domainsOnly = {...whole, names: ['domains']};
  t.deepEqual(await exported({'GET /filters': {data: [forAll]}}), whole);
  t.deepEqual(await exported({'GET /filters': {data: [forAll]}}, 'a.example'), domainsOnly);
  t.deepEqual(await exported(refusing(403, 'insufficient_scope')), domainsOnly);
  t.deepEqual(await exported(refusing(404, 'not_found')), domainsOnly);
  t.is((await exported(refusing(500, 'internal'))).code, 1);
});

test('a file that makes domains send reports is applied, and nodes that send none are named once', async t => {
  const api = await arrange(t, {'GET /cluster/status': {data: clusterStatus([{...peer('mx1'), dmarc_unset: true}])}});
  const reporting = ['a.example', 'b.example'].map(name => `  - {name: ${name}, dmarc_reporting: true}\n`).join('');

  const {code, stderr} = await api.apply(`domains:\n${reporting}`);

  t.is(code, 0);
  t.is(stderr.match(/warning: no DMARC reports are sent by mx1/g)?.length, 1);
});

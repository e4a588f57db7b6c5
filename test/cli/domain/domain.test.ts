import test from 'ava';
import {domain, key} from '../../helpers/cli/sample-records.ts';
import {startApi} from '../../helpers/cli/scripted-api.ts';

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
    api.requests.filter(({method}) => method === 'POST').map(({body}) => JSON.parse(body)),
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

  t.is(code, 2);
  t.regex(
    stderr,
    /^error: some fields are wrong \(validation_failed, request r-1\)\n {2}x: must have a dot\n {2}--backend: needs one\n/,
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
    'GET /mail/quarantine/summary': {data: {count: 3, groups: []}},
    [`DELETE /domains/${domain.id}`]: {data: null},
  });

  const asked = await api.mfctl(['domain', 'delete', String(domain.id)], {columns: 80, input: 'n\n'});
  const done = await api.mfctl(['domain', 'delete', 'example.com', '--yes', '-o', 'json']);

  t.is(asked.code, 3);
  t.regex(asked.stderr, /Delete example\.com with its DKIM keys and mail filters\? Held mail: 3\. It stays/);
  t.deepEqual(done, {code: 0, stdout: 'null\n', stderr: 'deleted example.com\n'});
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

test('a DKIM key is deleted for good, so it is asked about', async t => {
  const api = await startApi(t, {
    [`GET /domains/${domain.id}`]: {data: domain},
    [`GET /domains/${domain.id}/dkim-keys`]: {data: [{selector: 's1'}]},
    [`DELETE /domains/${domain.id}/dkim-keys/s1`]: {data: null},
  });
  const remove = ['domain', 'dkim', 'delete', String(domain.id), 's1'];

  const nobody = await api.mfctl(remove);
  const refused = await api.mfctl(remove, {columns: 200, input: 'n\n'});
  const agreed = await api.mfctl([...remove, '--yes']);

  t.deepEqual([nobody.code, refused.code, agreed.code], [2, 3, 0]);
  t.regex(refused.stderr, /Delete the DKIM key s1 of example\.com\?/);
  t.is(api.requests.filter(({method}) => method === 'DELETE').length, 1);
});

test('a filter or DKIM key that is not there is not found, and the hint lists those that are', async t => {
  const api = await startApi(t, {
    'GET /domains/7/filters': {data: []},
    'GET /domains/7/dkim-keys': {data: []},
    'GET /filters': {data: []},
  });

  for (const [command, hint] of [
    [['domain', 'filters', 'show', '7', '5'], 'mfctl domain filters list 7'],
    [['domain', 'dkim', 'show', '7', 'x'], 'mfctl domain dkim list 7'],
    [['filter', 'show', '5'], 'mfctl filter list'],
  ] as const) {
    const {code, stderr} = await api.mfctl([...command]);

    t.is(code, 5);
    t.true(stderr.endsWith(`hint: ${hint}\n`), stderr);
  }
});

test('a mail filter that is removed can be added again as it was', async t => {
  const filter = {
    id: 9,
    domain_id: domain.id,
    action: 'block',
    match: 'sender_domain',
    header: null,
    pattern: 'spam.example',
    score: null,
    comment: "it's spam",
    created_at: key.created_at,
  };
  const api = await startApi(t, {
    [`GET /domains/${domain.id}/filters`]: {data: [filter]},
    [`DELETE /domains/${domain.id}/filters/9`]: {data: null},
  });

  const {code, stderr} = await api.mfctl(['domain', 'filters', 'remove', String(domain.id), '9']);

  t.is(code, 0);
  t.true(
    stderr.endsWith(`mfctl domain filters add ${domain.id} --block --sender-domain spam.example --comment 'it'\\''s spam'\n`),
  );
});

test('domain create shows what became an A-label, and makes none of a name with quotes or hidden characters', async t => {
  const made = {...domain, name: 'xn--bcher-kva.example'};
  const api = await startApi(t, {'POST /domains': {status: 201, data: made}});

  const typed = await api.mfctl(['domain', 'create', 'B\u00fccher.example', '--direction', 'outbound']);
  const known = await api.mfctl(['domain', 'create', 'xn--bcher-kva.example', '--direction', 'outbound']);
  const asked = api.requests.length;
  const quoted = await api.mfctl(['domain', 'create', '\u201cexample.org\u201d', '--direction', 'outbound']);

  t.regex(typed.stderr, /^b\u00fccher\.example is xn--bcher-kva\.example in DNS, and in every list here$/m);
  t.is(known.stderr, '');
  t.is(quoted.code, 2);
  t.regex(quoted.stderr, /has the quotation mark \u201c \(U\+201C\); give the name without it/);
  t.is(api.requests.length, asked);
});

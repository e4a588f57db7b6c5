import test from 'ava';
import {pathsOf} from '../helpers/api-call.ts';
import {useNode} from '../helpers/use-node.ts';

const node = useNode({config: {dmarc: {report_from: 'dmarc@example.org'}}});

test('a domain needs a name and a backend; everything else has the documented default', async t => {
  const {status, json, headers} = await node().api('POST', 'domains', {
    body: {name: 'plain.test', backend_servers: ['mx.plain.test:25']},
  });

  t.is(status, 201);
  t.is(json.message, 'Created');
  const {id, created_at, updated_at, ...rest} = json.data;
  t.true(Number.isSafeInteger(id) && id > 0);
  t.true(Math.abs(Date.now() - Date.parse(created_at)) < 60_000);
  t.is(updated_at, created_at);
  t.deepEqual(rest, {
    name: 'plain.test',
    direction: 'inbound',
    active: true,
    backend_servers: ['mx.plain.test:25'],
    quarantine_threshold: 6,
    reject_threshold: 15,
    dkim_active: false,
    dmarc_reporting: false,
    tenant_id: null,
  });
  t.is(headers.location, `/api/v1/domains/${id}`);
  const read = await node().api('GET', `domains/${id}`);
  t.deepEqual(read.json.data, json.data);
  t.is(read.headers.etag, headers.etag);
  t.deepEqual(
    (await node().api('GET', 'domains')).json.data.find((each: {id: number}) => each.id === id),
    json.data,
  );
});

test('a name is kept in its canonical form', async t => {
  const names: [string, string][] = [
    ['UPPER.Test', 'upper.test'],
    ['dot.test.', 'dot.test'],
    ['münchen.example', 'xn--mnchen-3ya.example'],
    ['XN--MNCHEN-3YA.test', 'xn--mnchen-3ya.test'],
    ['例え.テスト', 'xn--r8jz45g.xn--zckzah'],
    ['fullwidth。test', 'fullwidth.test'],
    [`${'a'.repeat(63)}.test`, `${'a'.repeat(63)}.test`],
  ];
  for (const [given, kept] of names) t.is((await node().createDomain({name: given})).name, kept);
});

test('what is no host name with a dot is refused', async t => {
  const refused = [
    ...[
      '',
      ...'. nodot a..b .a.test a.test.. -a.test a-.test under_score.test'.split(' '),
      'sp ace.test',
      'a.test/x',
      'a@b.test',
    ],
    ...['1.2.3.4', '0x7f.1', '[::1]', '::1', 'a.test:25', '*.test', 'a.123', `${'a'.repeat(64)}.test`, `${'a.'.repeat(127)}test`],
    ...['xn--a.test', 'a\u0000.test', 'a.test\n', '%61.test', null, 5, ['a.test'], {}, true],
  ];
  for (const name of refused) {
    const answer = await node().api('POST', 'domains', {body: {name, backend_servers: ['mx.test:25']}});
    t.is(answer.status, 422, JSON.stringify(name));
    t.deepEqual(pathsOf(answer), ['name']);
  }
});

test('backend servers are host:port, IPv6 in brackets', async t => {
  const {id} = await node().createDomain();
  const good = [
    ...'mx.test:25 MX-1.test:1 under_score:65535 192.0.2.1:2525 [2001:db8::1]:25 [::ffff:192.0.2.1]:25'.split(' '),
    'localhost:25',
  ];
  const bad = [
    '',
    ...'mx.test mx.test: :25 mx.test:0 mx.test:65536 mx.test:25:25 2001:db8::1:25 [2001:db8::1] [mx.test]:25'.split(' '),
    ...'999.1.1.1:25 1.2.3:25'.split(' '),
    'a b:25',
    'http://mx.test:25',
    'mx.test:25 ',
    'mx.test:+25',
    'mx.test:1e2',
    '[::1%eth0]:25',
    'mx\u0000.test:25',
  ];

  for (const server of good) {
    const {status, json} = await node().api('PUT', `domains/${id}`, {body: {backend_servers: [server]}});
    t.is(status, 200, server);
    t.deepEqual(json.data.backend_servers, [server]);
  }
  const answer = await node().api('PUT', `domains/${id}`, {body: {backend_servers: bad}});
  t.is(answer.status, 422);
  t.deepEqual(pathsOf(answer), bad.map((_, at) => `backend_servers.${at}`).sort());
  const tooMany = await node().api('PUT', `domains/${id}`, {
    body: {backend_servers: Array.from({length: 33}, () => 'mx.test:25')},
  });
  t.deepEqual(pathsOf(tooMany), ['backend_servers']);
});

test('all wrong fields of a domain are listed at once, unknown ones among them', async t => {
  const refused: [object | string, string[]][] = [
    [{}, ['backend_servers', 'name']],
    [{direction: 'outbound', quarantine_threshold: 9, reject_threshold: 8}, ['name', 'quarantine_threshold']],
    [{name: 'x.test'}, ['backend_servers']],
    [{name: 'x.test', direction: 'both'}, ['backend_servers']],
    [
      {
        name: 'x',
        direction: 'sideways',
        active: 1,
        backend_servers: 'a:1',
        quarantine_threshold: '6',
        reject_threshold: null,
        dkim_active: 'yes',
        dmarc_reporting: 0,
        tenant_id: {},
        colour: 'red',
      },
      [
        ...'active backend_servers colour direction dkim_active dmarc_reporting name quarantine_threshold'.split(' '),
        ...'reject_threshold tenant_id'.split(' '),
      ],
    ],
    [{name: 'nodot', backend_servers: ['a:1'], quarantine_threshold: 9, reject_threshold: 8}, ['name', 'quarantine_threshold']],
    [{name: 'x.test', backend_servers: ['a:1'], quarantine_threshold: 16}, ['quarantine_threshold']],
    [{name: 'x.test', backend_servers: ['a:1'], reject_threshold: 10_001}, ['reject_threshold']],
    [{name: 'x.test', backend_servers: ['a:1'], id: 7, created_at: '2026-01-01T00:00:00Z'}, ['created_at', 'id']],
    ['{"name":"x.test","backend_servers":["a:1"],"__proto__":{"active":false},"constructor":1}', ['__proto__', 'constructor']],
    ['{"name":"x.test","backend_servers":["a:1"],"reject_threshold":1e999}', ['reject_threshold']],
  ];
  for (const [body, paths] of refused) {
    const answer = await node().api('POST', 'domains', {body});
    t.is(answer.status, 422, JSON.stringify(body));
    t.deepEqual(pathsOf(answer), paths, JSON.stringify(body));
  }
  t.false((await node().api('GET', 'domains')).json.data.some(({name}: {name: string}) => name === 'x.test'));
});

test('an outbound domain needs no backend, and cannot become inbound without one', async t => {
  const {id} = await node().createDomain({direction: 'outbound', backend_servers: []});

  t.deepEqual(pathsOf(await node().api('PUT', `domains/${id}`, {body: {direction: 'inbound'}})), ['backend_servers']);
  t.is((await node().api('PUT', `domains/${id}`, {body: {direction: 'both', backend_servers: ['mx.test:25']}})).status, 200);
  t.deepEqual(pathsOf(await node().api('PUT', `domains/${id}`, {body: {backend_servers: []}})), ['backend_servers']);
});

test('of many who create one name at once exactly one succeeds and the others get a conflict', async t => {
  const body = {name: 'wanted.test', backend_servers: ['mx.test:25']};

  const answers = await Promise.all(Array.from({length: 12}, () => node().api('POST', 'domains', {body})));

  t.is(answers.filter(({status}) => status === 201).length, 1);
  for (const {status, json} of answers.filter(each => each.status !== 201)) t.is(`${status} ${json.error.code}`, '409 conflict');
  const other = await node().api('POST', 'domains', {body: {...body, name: 'WANTED.test.'}});
  t.is(other.status, 409);
  t.deepEqual(pathsOf(other), ['name']);
});

test('PUT takes a complete object and changes only what differs', async t => {
  const domain = await node().createDomain();
  const complete = {
    ...domain,
    direction: 'both',
    active: false,
    backend_servers: ['a.test:25', 'b.test:26'],
    quarantine_threshold: 4.25,
    reject_threshold: 9.5,
    dkim_active: true,
    dmarc_reporting: true,
    tenant_id: 'north',
  };

  const {status, json, headers} = await node().api('PUT', `domains/${domain.id}`, {body: complete});

  t.is(status, 200);
  const {updated_at, ...rest} = json.data;
  t.true(updated_at > domain.updated_at);
  t.deepEqual({...rest, updated_at: domain.updated_at}, complete);
  const again = await node().api('PUT', `domains/${domain.id}`, {body: json.data});
  t.deepEqual(again.json.data, json.data, 'the same object once more changes nothing, not even updated_at');
  t.is(again.headers.etag, headers.etag);
});

test('PUT takes a merge patch, with either media type', async t => {
  const domain = await node().createDomain({tenant_id: 7});
  const change = async (body: unknown, type: string) =>
    (await node().api('PUT', `domains/${domain.id}`, {body, headers: {'Content-Type': type}})).json.data;

  t.like(await change({quarantine_threshold: 3}, 'application/json'), {
    quarantine_threshold: 3,
    reject_threshold: 15,
    tenant_id: 7,
  });
  t.like(await change({reject_threshold: 5}, 'application/merge-patch+json'), {quarantine_threshold: 3, reject_threshold: 5});
  t.like(await change({tenant_id: null}, 'application/merge-patch+json; charset=UTF-8'), {tenant_id: null, reject_threshold: 5});
  t.like(await change({}, 'application/json; charset="utf-8"'), {quarantine_threshold: 3});
});

test('a member that null removes is missed, unless null is a value it may have', async t => {
  const domain = await node().createDomain({tenant_id: 'x'});

  const answer = await node().api('PUT', `domains/${domain.id}`, {body: {direction: null, active: null, tenant_id: null}});

  t.is(answer.status, 422);
  t.deepEqual(pathsOf(answer), ['active', 'direction']);
  t.deepEqual((await node().api('GET', `domains/${domain.id}`)).json.data, domain);
});

test('what never changes may be sent as it is, and every other value of it is refused by name', async t => {
  const domain = await node().createDomain();
  const {id, name, created_at, updated_at} = domain;

  t.is((await node().api('PUT', `domains/${id}`, {body: {id, name, created_at, updated_at}})).status, 200);
  t.is((await node().api('PUT', `domains/${id}`, {body: {name: name.toUpperCase()}})).status, 200);
  const moved = await node().api('PUT', `domains/${id}`, {
    body: {
      id: id + 1,
      name: 'other.test',
      created_at: '2020-01-01T00:00:00.000Z',
      updated_at: null,
      quarantine_threshold: 16,
    },
  });
  t.is(moved.status, 422);
  t.deepEqual(pathsOf(moved), ['created_at', 'id', 'name', 'quarantine_threshold', 'updated_at']);
  t.deepEqual((await node().api('GET', `domains/${id}`)).json.data, domain);
});

test('the quarantine threshold stays at or below the reject threshold, also when only one of them is patched', async t => {
  const {id} = await node().createDomain({quarantine_threshold: 5, reject_threshold: 10});
  const put = async (body: object) => (await node().api('PUT', `domains/${id}`, {body})).status;

  t.is(await put({quarantine_threshold: 10.01}), 422);
  t.is(await put({reject_threshold: 4.99}), 422);
  t.is(await put({quarantine_threshold: 10}), 200);
  t.is(await put({quarantine_threshold: -1000, reject_threshold: -1000}), 200);
});

test('a body that is JSON but no object is 422', async t => {
  const {id} = await node().createDomain();
  for (const body of ['[]', 'null', '"text"', '7', 'true', '[{"active":true}]'])
    for (const [method, path] of [
      ['POST', 'domains'],
      ['PUT', `domains/${id}`],
    ] as const)
      t.is((await node().api(method, path, {body})).status, 422, `${method} ${body}`);
});

test('If-Match lets a change through only while the domain is as it was read', async t => {
  const domain = await node().createDomain();
  const path = `domains/${domain.id}`;
  const {etag = ''} = (await node().api('GET', path)).headers;
  const put = async (ifMatch: string, quarantine_threshold: number) =>
    node().api('PUT', path, {body: {quarantine_threshold}, headers: {'If-Match': ifMatch}});
  t.regex(etag, /^"[^"]+"$/);

  const changed = await put(etag, 5);
  t.is(changed.status, 200);
  t.not(changed.headers.etag, etag);
  for (const stale of [
    etag,
    `W/${changed.headers.etag}`,
    '"nothing", "else"',
    'unquoted',
    '',
    changed.headers.etag?.slice(1) ?? '',
  ]) {
    const {status, json} = await put(stale, 4);
    t.is(status, 412, stale);
    t.is(json.error.code, 'precondition_failed');
  }
  t.is((await put(`"other", ${changed.headers.etag}`, 3)).status, 200);
  t.is((await put('*', 2)).status, 200);
  t.is((await node().api('DELETE', path, {headers: {'If-Match': etag}})).status, 412);
  t.is((await node().api('PUT', 'domains/4242', {body: {}, headers: {'If-Match': '*'}})).status, 404);

  const current = (await node().api('GET', path)).headers.etag ?? '';
  const raced = await Promise.all(Array.from({length: 8}, (_, at) => put(current, at / 10)));
  t.deepEqual(raced.map(({status}) => status).sort(), [200, ...Array.from({length: 7}, () => 412)]);
  t.is((await node().api('DELETE', path, {headers: {'If-Match': '*'}})).status, 200);
});

test('after many changes at once every way of reading tells the same', async t => {
  const {id} = await node().createDomain();

  await Promise.all(
    Array.from({length: 40}, (_, at) => node().api('PUT', `domains/${id}`, {body: {quarantine_threshold: at / 10}})),
  );

  const one = (await node().api('GET', `domains/${id}`)).json.data;
  const stored = (await node().api('PUT', `domains/${id}`, {body: {}})).json.data;
  t.deepEqual(one, stored);
});

test('deleting a domain takes its filters and DKIM keys with it and leaves its held mail', async t => {
  const domain = await node().createDomain();
  const path = `domains/${domain.id}`;
  const filter = {action: 'score', match: 'subject', pattern: 'nothing*', score: 1};
  t.is((await node().api('POST', `${path}/filters`, {body: filter})).status, 201);
  t.is((await node().api('POST', `${path}/dkim-keys`, {body: {selector: 's1', algorithm: 'ed25519'}})).status, 201);
  const mail = await node().hold({to: `a@${domain.name}`});

  const {status, json} = await node().api('DELETE', path);

  t.is(status, 200);
  t.is(json.data, null);
  for (const gone of [path, `${path}/filters`, `${path}/dkim-keys`]) t.is((await node().api('GET', gone)).status, 404);
  t.is((await node().api('DELETE', path)).status, 404);
  const held = await node().api('GET', `mail/quarantine?domain=${domain.name}`);
  t.is(held.json.data[0].queue_id, mail.queue_id);

  const successor = await node().createDomain({name: domain.name});
  t.not(successor.id, domain.id);
  t.deepEqual((await node().api('GET', `domains/${successor.id}/filters`)).json.data, []);
  t.deepEqual((await node().api('GET', `domains/${successor.id}/dkim-keys`)).json.data, []);
  t.is((await node().api('POST', `mail/quarantine/${mail.node_id}/${mail.queue_id}/release`)).status, 200);
  t.true(node().sink.mails.some(({recipients}) => recipients.includes(`a@${domain.name}`)));
});

test('wrong ids are 400, unknown ones 404', async t => {
  for (const wrong of ['abc', '0', '-1', '007', '1.0', '9007199254740992', '1%00', '..%2f1', '%zz', '１'])
    t.is((await node().api('GET', `domains/${encodeURI(wrong).replaceAll('%25', '%')}`)).status, 400, wrong);
  for (const [method, body] of [
    ['GET', undefined],
    ['PUT', {}],
    ['DELETE', undefined],
  ] as const)
    t.is((await node().api(method, 'domains/9007199254740991', body && {body})).json.error.code, 'not_found');
});

test('the same record has the same ETag, another record another one', async t => {
  const tags = new Set<string>();
  for (let made = 0; made < 5; made += 1) {
    const {id} = await node().createDomain();
    const first = await node().api('GET', `domains/${id}`);
    t.is((await node().api('GET', `domains/${id}`)).headers.etag, first.headers.etag);
    tags.add(String(first.headers.etag));
  }
  t.is(tags.size, 5);
});

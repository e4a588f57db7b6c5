// Requests with errors, by mistake or malice: each kind of error has its own answer. The helper checks with every request that
// the answer has a request id, an envelope and no internal details.
import {request} from 'node:https';
import test from 'ava';
import {statusOfCode} from '../../shared/fault.ts';
import {useNode} from '../helpers/use-node.ts';

const node = useNode();

const post = async (body: unknown, headers: Record<string, string> = {}) => node().api('POST', 'domains', {body, headers});
const healthy = async () => (await node().api('GET', 'auth/me')).status === 200;

test('no two answers share a request id, and a caller cannot choose it', async t => {
  const ids = new Set<unknown>();
  for (let asked = 0; asked < 20; asked += 1)
    ids.add(
      (await node().api('GET', asked % 2 ? 'auth/me' : 'nothing', {headers: {'X-Request-Id': 'mine'}})).headers['x-request-id'],
    );

  t.is(ids.size, 20);
  t.false(ids.has('mine'));
});

test('a failure carries its code, the text of its status, and advice', async t => {
  const {status, json} = await node().api('GET', 'domains/4242');

  t.is(status, statusOfCode.not_found);
  t.is(json.message, 'Not Found');
  t.is(json.error.code, 'not_found');
  t.regex(json.error.detail, /GET \/domains/);
});

test('what is not JSON in UTF-8 is malformed', async t => {
  const bodies = [
    ...[
      '{',
      '}',
      '{"name":}',
      "{'name':1}",
      ...'{"a":1,} NaN undefined {"a":1}{"b":2} <xml/> name=x.test'.split(' '),
      ' ',
      '\u0000',
    ],
    ...[
      '{"a":"\n"}',
      '{"a":"\\x41"}',
      '{"name":"\\ud8',
      `${'['.repeat(30_000)}${']'.repeat(30_000)}`,
      '{"a":'.repeat(10_000),
      `${'{"a":'.repeat(40)}1${'}'.repeat(40)}`,
    ],
    ...[
      Buffer.from([0xff, 0xfe, 0x7b, 0x00]),
      Buffer.from('{"name":"\xfc.test"}', 'latin1'),
      Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22]),
    ],
  ];
  for (const body of bodies) {
    const {status, json} = await post(body);
    t.is(status, 400, body.toString().slice(0, 40));
    t.is(json.error.code, 'malformed_json');
  }
  t.regex((await post('{\n  "name": "a.test",,\n}')).json.error.detail, /: it breaks at line 2, column 20$/);
  t.is((await post('', {'Content-Length': '0'})).status, 400, 'an empty body');
});

test('of members given twice the last one counts, and none of them reaches the prototype', async t => {
  const body = '{"name":"first.test","name":"twice.test","backend_servers":["mx.test:25"],"active":true,"active":false}';
  const {json} = await post(body);
  t.like(json.data, {name: 'twice.test', active: false});

  for (const name of ['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty']) {
    const refused = await node().api('PUT', `domains/${json.data.id}`, {body: `{"${name}":{"scope":"full-admin"}}`});
    t.is(refused.status, 422, name);
    t.is(refused.json.error.fields[0].path, name);
  }
  const {key} = await node().createKey('read-only');
  t.is((await node().api('GET', 'auth/me', {key})).json.data.scope, 'read-only');
});

test('only JSON in UTF-8 and in the clear is taken as a body', async t => {
  const types = [
    '',
    'text/plain',
    'text/json',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/json-patch+json',
    'application/jsonx',
    'application/json; charset=iso-8859-1',
    'application/json; charset=utf-16',
    ';',
    'application/json, text/plain',
  ];
  for (const type of types) {
    const {status, json} = await post('{}', {'Content-Type': type});
    t.is(status, 415, type);
    t.is(json.error.code, 'unsupported_media_type');
  }
  for (const encoding of ['gzip', 'br', 'x-unknown'])
    t.is((await post('{}', {'Content-Encoding': encoding})).status, 415, encoding);
  for (const type of ['application/json', 'APPLICATION/JSON ; Charset="UTF-8"', 'application/merge-patch+json'])
    t.is((await post('{}', {'Content-Type': type, 'Content-Encoding': 'identity'})).status, 422, type);
});

test('a body of 64 KiB is read, one byte more is refused, and ten megabytes do no harm', async t => {
  const padded = (length: number) => `{}${' '.repeat(length - 2)}`;
  t.is((await post(padded(65_536))).status, 422);
  for (const length of [65_537, 10_000_000]) {
    const {status, json} = await post(padded(length));
    t.is(status, 413, String(length));
    t.is(json.error.code, 'payload_too_large');
  }
  t.true(await healthy());
});

test('a body of unknown length is refused as soon as it is too long, before it ends', async t => {
  const {status, code} = await new Promise<{status: number | undefined; code: string}>((resolve, reject) => {
    const sent = request(`${node().api_url}/api/v1/domains`, {
      method: 'POST',
      rejectUnauthorized: false,
      headers: {'X-API-Key': node().api_key, 'Content-Type': 'application/json', 'Transfer-Encoding': 'chunked'},
    });
    const more = setInterval(() => sent.write('x'.repeat(16_384)), 2);
    sent.on('error', reject);
    sent.on('response', response => {
      clearInterval(more);
      let body = '';
      response.on('data', (chunk: Buffer) => {
        body += chunk.toString();
      });
      response.on('end', () => {
        sent.destroy();
        resolve({status: response.statusCode, code: JSON.parse(body).error.code});
      });
    });
  });

  t.is(status, 413);
  t.is(code, 'payload_too_large');
  t.true(await healthy());
});

test('a client that breaks off in the middle of its body disturbs nobody', async t => {
  const head = `POST /api/v1/domains HTTP/1.1\r\nHost: x\r\nX-API-Key: ${node().api_key}\r\nContent-Type: application/json\r\n`;
  await node().raw(`${head}Content-Length: 500\r\n\r\n{"name":`, 100);
  await node().raw(`${head}Transfer-Encoding: chunked\r\n\r\n5\r\n{"nam`, 100);

  t.true(await healthy());
  t.notRegex(node().log(), /request failed/);
});

test('a known path asked in another method is 405 with what it allows, the public one without a key too', async t => {
  const asked: [string, string, string][] = [
    ['PATCH', 'domains', 'GET, HEAD, POST'],
    ['OPTIONS', 'domains', 'GET, HEAD, POST'],
    ['TRACE', 'domains/1', 'DELETE, GET, HEAD, PUT'],
    ['POST', 'domains/1', 'DELETE, GET, HEAD, PUT'],
    ['PUT', 'auth/api-keys/1/revoke', 'POST'],
    ['GET', 'auth/api-keys/1', 'DELETE'],
    ['DELETE', 'auth/me', 'GET, HEAD'],
    ['GET', 'mail/quarantine/release', 'POST'],
    ['POST', 'mail/quarantine/summary', 'GET, HEAD'],
    ['PROPFIND', 'cluster/status', 'GET, HEAD'],
  ];
  for (const [method, path, allow] of asked) {
    const {status, json, headers} = await node().api(method, path);
    t.is(status, 405, `${method} ${path}`);
    t.is(json.error.code, 'method_not_allowed');
    t.is(headers.allow, allow);
  }
  const open = await node().api('DELETE', 'openapi.yaml', {key: null});
  t.is(open.status, 405);
  t.is(open.headers.allow, 'GET, HEAD');
});

test('a path that leads nowhere is 404, however it is written', async t => {
  const paths = [
    '',
    ...'x domain domains/1/2 auth auth/me/x auth/ME mail mail/quarantine/a/b/c/d %zz % %ff%fe auth%2fme %00'.split(' '),
    'a'.repeat(7000),
    'domains;x=1',
    '..%2f..%2f',
    'mail/quarantine/a/abcdef/release/x',
  ];
  for (const path of paths) {
    const {status, json} = await node().api('GET', path);
    t.is(status, 404, path.slice(0, 40));
    t.is(json.error.code, 'not_found');
  }
});

test('a parameter nobody knows is refused wherever it is sent, and nothing is done', async t => {
  const {id, name} = await node().createDomain();
  const key = await node().createKey('read-only');
  const mail = await node().hold({to: `a@${name}`});
  const path = `mail/quarantine/${mail.node_id}/${mail.queue_id}`;
  const requests: [string, string, object?][] = [
    ['GET', 'auth/me'],
    ['GET', 'auth/api-keys'],
    ['POST', 'auth/api-keys', {name: 'x', scope: 'read-only'}],
    ['DELETE', `auth/api-keys/${key.id}`],
    ['POST', `auth/api-keys/${key.id}/revoke`],
    ['GET', 'domains'],
    ['POST', 'domains', {name: 'never.test', direction: 'outbound'}],
    ['GET', `domains/${id}`],
    ['PUT', `domains/${id}`, {active: false}],
    ['DELETE', `domains/${id}`],
    ['GET', `domains/${id}/filters`],
    ['POST', `domains/${id}/filters`, {action: 'block', match: 'subject', pattern: 'x'}],
    ['DELETE', `domains/${id}/filters/1`],
    ['GET', 'filters'],
    ['POST', 'filters', {action: 'block', match: 'subject', pattern: 'x'}],
    ['DELETE', 'filters/1'],
    ['GET', 'webhooks'],
    ['POST', 'webhooks', {url: 'https://hooks.invalid/'}],
    ['GET', 'webhooks/1'],
    ['DELETE', 'webhooks/1'],
    ['POST', 'webhooks/1/test'],
    ['POST', 'webhooks/1/replay', {since: '2026-03-01T09:30:00Z'}],
    ['GET', 'webhooks/1/deliveries'],
    ['GET', `domains/${id}/dkim-keys`],
    ['POST', `domains/${id}/dkim-keys`, {selector: 'a'}],
    ['DELETE', `domains/${id}/dkim-keys/a`],
    ['GET', 'cluster/status'],
    ['GET', 'audit'],
    ['GET', path],
    ['GET', `${path}/body`],
    ['POST', `${path}/release`],
    ['POST', 'mail/quarantine/discard', {items: [mail]}],
  ];
  for (const [method, url, body] of requests) {
    const {status, json} = await node().api(method, `${url}?dry_run=true`, body && {body});
    t.is(status, 400, `${method} ${url}`);
    t.is(json.error.fields[0].path, 'dry_run');
  }
  t.true((await node().api('GET', `domains/${id}`)).json.data.active);
  t.is((await node().api('GET', 'auth/me', {key: key.key})).status, 200);
  t.is((await node().api('GET', path)).status, 200);
});

test('HEAD tells what GET would, without the body', async t => {
  for (const path of ['auth/me', 'domains', 'mail/quarantine', 'nothing', 'openapi.yaml']) {
    const [get, head] = [await node().api('GET', path), await node().api('HEAD', path)];
    t.is(head.status, get.status, path);
    t.is(head.body.length, 0);
    t.is(head.headers['content-type'], get.headers['content-type']);
  }
});

test('absolute-form targets, HTTP/1.0, pipelined requests and doubled headers are answered in order and without fuss', async t => {
  const auth = `X-API-Key: ${node().api_key}\r\n`;
  const statuses = (answers: string) => [...answers.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => status);

  t.deepEqual(
    statuses(await node().raw(`GET https://other.test/api/v1/auth/me HTTP/1.1\r\nHost: x\r\n${auth}Connection: close\r\n\r\n`)),
    ['200'],
  );
  t.deepEqual(statuses(await node().raw(`GET /api/v1/auth/me HTTP/1.0\r\n${auth}\r\n`)), ['200']);
  const get = (path: string) => `GET /api/v1/${path} HTTP/1.1\r\nHost: x\r\n${auth}\r\n`;
  const last = get('auth/me').replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n');
  t.deepEqual(statuses(await node().raw(get('auth/me') + get('nothing') + get('domains/abc') + last)), [
    '200',
    '404',
    '400',
    '200',
  ]);
  t.deepEqual(
    statuses(
      await node().raw(
        get('auth/me')
          .replace(auth, auth + auth)
          .replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n'),
      ),
    ),
    ['401'],
  );
  t.deepEqual(
    statuses(
      await node().raw(`GET /api/v1/auth/me HTTP/1.1\r\nHost: x\r\n${auth}Upgrade: h2c\r\nConnection: Upgrade, close\r\n\r\n`),
    ),
    ['200'],
  );
});

test('what is no HTTP, or more header than a node reads, ends the connection and nothing else', async t => {
  const nonsense = [
    '\r\n\r\n\r\n',
    'GET\r\n\r\n',
    'GET / HTTP/9.9\r\n\r\n',
    'EHLO x\r\n',
    '\x16\x03\x01',
    `GET / HTTP/1.1\r\nHost: x\r\nX-Long: ${'a'.repeat(100_000)}\r\n\r\n`,
    'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    'GET / HTTP/1.1\r\n\r\n',
    'GET / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n',
  ];
  for (const bytes of nonsense) t.regex(await node().raw(bytes, 300), /^(HTTP\/1\.1 4\d\d |$)/, bytes.slice(0, 40));

  t.true(await healthy());
});

test('what the HTTP parser turns away still gets an envelope with a request id', async t => {
  const long = `GET /api/v1/auth/me HTTP/1.1\r\nHost: x\r\nX-Long: ${'a'.repeat(100_000)}\r\n\r\n`;

  for (const bytes of [long, 'GET / HTTP/9.9\r\n\r\n']) {
    const [head = '', body = ''] = (await node().raw(bytes)).split('\r\n\r\n');
    t.regex(head, /^HTTP\/1\.1 400 /);
    t.regex(head, /\r\nX-Request-Id: [0-9a-f]{20}\r\n/);
    t.like(JSON.parse(body), {data: null, error: {code: 'invalid_parameter'}, message: 'Bad Request'});
  }
});

test('an expectation nobody can meet does not keep a request from being answered', async t => {
  const auth = `X-API-Key: ${node().api_key}\r\n`;

  const answer = await node().raw(
    `GET /api/v1/auth/me HTTP/1.1\r\nHost: x\r\n${auth}Expect: a miracle\r\nConnection: close\r\n\r\n`,
  );

  t.regex(answer, /^HTTP\/1\.1 200 /);
});

test('a route without a body takes none but {} or blanks, so that nothing in one is ignored', async t => {
  const {json} = await post({name: 'bodyless.test', direction: 'outbound'});
  const paths: [string, string][] = [
    ['POST', 'webhooks/1/test'],
    ['DELETE', `domains/${json.data.id}`],
    ['GET', 'auth/me'],
  ];
  for (const [method, path] of paths) {
    for (const body of [{recipients: ['b@bodyless.test']}, [], null, 'all']) {
      const refused = await node().api(method, path, {body: JSON.stringify(body)});
      t.is(refused.status, 400, `${method} ${path} ${JSON.stringify(body)}`);
      t.is(refused.json.error.code, 'invalid_parameter');
      t.is(refused.json.error.detail, 'this request takes no body; send none, or {}');
    }
    t.is((await node().api(method, path, {body: 'x=1'})).json.error.code, 'malformed_json');
  }
  for (const body of ['\n', ' \r\n\t']) t.is((await node().api('GET', 'auth/me', {body})).status, 200, 'a blank body is none');
  t.regex((await post('\n')).json.error.detail, /^the body is empty/);
  t.is((await node().api('GET', `domains/${json.data.id}`)).status, 200);
  t.is((await node().api('DELETE', `domains/${json.data.id}`, {body: '{}'})).status, 200);
});

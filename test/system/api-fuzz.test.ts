// Requests nobody would think of: whatever is asked, the answer is one the contract knows, and never a failure of the node.
import test from 'ava';
import fc from 'fast-check';
import {statusOfCode} from '../../shared/fault.ts';
import {useApiNode} from '../helpers/api-node.ts';

const node = useApiNode();

const methods = ['GET', 'GET', 'POST', 'POST', 'PUT', 'PUT', 'DELETE', 'HEAD', 'PATCH', 'OPTIONS'];

/** A segment as it stands in a request line. */
const segment = fc.oneof(
  fc.constantFrom('auth', 'me', 'api-keys', 'revoke', 'domains', 'filters', 'dkim-keys', 'mail', 'quarantine', 'summary'),
  fc.constantFrom(
    'release',
    'discard',
    'body',
    'cluster',
    'status',
    'audit',
    'openapi.yaml',
    '1',
    '4242',
    '0',
    '-1',
    '1e9',
    'abcdef',
  ),
  fc.constantFrom('..%2f', '%00', '%ff', '%zz', '%F0%9F%98%80', '9'.repeat(30), 'x'.repeat(300), ';', '*', "'", '__proto__'),
  fc.string({maxLength: 12}).map(encodeURIComponent),
);

const mailPath = fc
  .tuple(
    fc.oneof(fc.constant(':here'), segment),
    fc.oneof(fc.constantFrom('neverknown1', ':held'), segment),
    fc.constantFrom('', '/body', '/release', '/discard'),
  )
  .map(([at, id, action]) => `mail/quarantine/${at}/${id}${action}`);

const domainPath = fc
  .tuple(fc.oneof(fc.constant(':domain'), segment), fc.constantFrom('', '/filters', '/filters/1', '/dkim-keys', '/dkim-keys/s1'))
  .map(([id, rest]) => `domains/${id}${rest}`);

const known = fc.constantFrom(
  'auth/me',
  'auth/api-keys',
  'auth/api-keys/4242',
  'auth/api-keys/4242/revoke',
  'domains',
  'mail/quarantine',
  'mail/quarantine/summary',
  'mail/quarantine/release',
  'mail/quarantine/discard',
  'cluster/status',
  'audit',
  'openapi.yaml',
);

const path = fc.oneof(
  {weight: 3, arbitrary: known},
  {weight: 2, arbitrary: mailPath},
  {weight: 2, arbitrary: domainPath},
  {weight: 1, arbitrary: fc.array(segment, {maxLength: 6}).map(parts => parts.join('/'))},
);

const parameterName = fc.constantFrom(
  'limit',
  'offset',
  'domain',
  'sender',
  'since',
  'until',
  'min_score',
  'max_score',
  'reason',
  'node',
  'recipient',
  'subject',
  'strict',
  'force',
  'key_id',
  'action',
  '__proto__',
  'x',
);
const parameterValue = fc.oneof(
  fc.constantFrom(
    '1',
    '1000',
    '0',
    '-1',
    '1e9',
    'true',
    'spam',
    'a.test',
    'u@a.test',
    '<>',
    '2026-01-01T00:00:00Z',
    '0000-01-01T00:00:00-23:59',
    '9999-12-31T23:59:59-23:59',
    '%',
    '_',
    '\\',
    '\u0000',
    "' OR 1=1",
    'domain.create',
  ),
  fc.string({unit: 'binary', maxLength: 20}).filter(text => !/\p{Cs}/u.test(text)),
);
const parameters = fc
  .array(fc.tuple(parameterName, parameterValue), {maxLength: 3})
  .map(pairs => (pairs.length === 0 ? '' : `?${pairs.map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join('&')}`));

const query = fc.oneof({weight: 2, arbitrary: fc.constant('')}, {weight: 1, arbitrary: parameters});

const member = fc.oneof(
  fc.constantFrom(
    'name',
    'scope',
    'domain',
    'expires_at',
    'rate_limit_per_minute',
    'direction',
    'active',
    'backend_servers',
    'quarantine_threshold',
  ),
  fc.constantFrom(
    'reject_threshold',
    'tenant_id',
    'action',
    'match',
    'pattern',
    'score',
    'header',
    'selector',
    'algorithm',
    'items',
    'id',
    '__proto__',
  ),
);
const value = fc.oneof(
  fc.constantFrom(
    'read-only',
    'full-admin',
    'a.test',
    'block',
    'score',
    'subject',
    'sender',
    'inbound',
    '2099-01-01T00:00:00Z',
    'ed25519',
    's1',
    'mx.test:25',
    '[::1]:25',
    '',
  ),
  fc.constantFrom(0, 1, -1, 6.5, 1e308, -0, 2 ** 53, true, false, null),
  fc.constantFrom(['mx.test:25'], [], {}, [{node_id: 'x', queue_id: 'abcdef'}], [[[[]]]], ['mx.test:25', 5]),
  fc.string({unit: 'binary', maxLength: 20}),
  fc.jsonValue({maxDepth: 3}),
);
const entries = (maxLength: number) => fc.array(fc.tuple(member, value), {maxLength}).map(pairs => Object.fromEntries(pairs));
const body = fc.oneof(
  {weight: 3, arbitrary: entries(6).map(members => JSON.stringify(members))},
  {weight: 1, arbitrary: fc.jsonValue().map(json => JSON.stringify(json))},
  {weight: 1, arbitrary: fc.string({unit: 'binary', maxLength: 50})},
  {weight: 1, arbitrary: fc.uint8Array({maxLength: 50}).map(bytes => Buffer.from(bytes))},
  {weight: 3, arbitrary: fc.constant(undefined)},
);
const headers = fc.record(
  {
    'Content-Type': fc.constantFrom(
      'application/json',
      'application/json',
      'application/merge-patch+json',
      'text/plain',
      'application/json; charset=x',
      '',
    ),
    'If-Match': fc.constantFrom('*', '"x"', 'W/"x"', ',,,', '"'),
    Accept: fc.constantFrom('text/html', '*/*', 'x'),
    'Content-Encoding': fc.constantFrom('identity', 'identity', 'identity', 'gzip'),
    Expect: fc.constant('100-continue'),
  },
  {requiredKeys: ['Content-Type']},
);

/** Requests that are right, but for what is put over their bodies. */
const right: [method: string, path: string, body: object][] = [
  ['POST', 'auth/api-keys', {name: 'made', scope: 'read-only'}],
  ['POST', 'domains', {name: 'made.test', backend_servers: ['mx.test:25']}],
  ['PUT', 'domains/:domain', {quarantine_threshold: 5}],
  ['POST', 'domains/:domain/filters', {action: 'block', match: 'subject', pattern: 'x'}],
  ['POST', 'domains/:domain/dkim-keys', {selector: 's1', algorithm: 'ed25519'}],
  ['POST', 'mail/quarantine/release', {items: [{node_id: 'x', queue_id: 'abcdef'}]}],
];
const nearlyRight = fc
  .tuple(fc.constantFrom(...right), entries(1))
  .map(([[method, url, base], over]) => ({method, url, content: JSON.stringify({...base, ...over}), more: {}}));

const anyRequest = fc.record({
  method: fc.constantFrom(...methods),
  url: fc.tuple(path, query).map(parts => parts.join('')),
  content: body,
  more: headers,
});

/** 5xx but for those that say what happened outside the node are failures of the node. */
const permitted = new Set([200, 201, ...Object.values(statusOfCode)].filter(status => status !== 500));

test('whatever is asked, the answer is one of the contract and the node stays well', async t => {
  const {id, name} = await node().createDomain();
  const held = await node().hold({to: `a@${name}`});
  const {key} = await node().createKey('full-admin', {rate_limit_per_minute: 1_000_000});
  const statuses = new Map<number, number>();

  await fc.assert(
    fc.asyncProperty(fc.oneof(anyRequest, nearlyRight), async ({method, url, content, more}) => {
      const asked = url.replace(':here', held.node_id).replace(':held', held.queue_id).replace(':domain', String(id));
      const sent = method === 'GET' || method === 'HEAD' ? {} : {body: content};
      const {status} = await node().api(method, asked, {key, headers: more, ...sent});
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      t.true(permitted.has(status), `${method} ${asked} ${status}`);
    }),
    {numRuns: 700, seed: 20_260_301, endOnFailure: true},
  );

  for (const status of [200, 201, 400, 404, 405, 415, 422])
    t.true((statuses.get(status) ?? 0) > 0, `${status} was never reached`);
  t.is((await node().api('GET', 'auth/me')).status, 200);
  t.notRegex(node().log(), /"level":50/);
});

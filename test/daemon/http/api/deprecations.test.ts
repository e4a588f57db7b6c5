import {createServer} from 'node:http';
import type {AddressInfo} from 'node:net';
import test from 'ava';
import pino from 'pino';
import {createApi} from '../../../../daemon/http/api/app.ts';
import type {DeprecatedUse} from '../../../../daemon/http/api/deprecations.ts';
import {createMetrics} from '../../../../daemon/http/metrics.ts';
import {deprecations, description, startDeprecatedApi} from '../../../helpers/deprecated-api.ts';
import {hasPromtool, promtool} from '../../../helpers/promtool.ts';

test('one mark makes an operation, a parameter and a field deprecated in the description', t => {
  const {paths, components} = description();

  t.like(paths?.['/old/{id}']?.get, {deprecated: true, 'x-deprecation': {since: '2027-01-01', sunset: '2027-07-01'}});
  t.is(paths?.['/things']?.get?.deprecated, undefined);
  const parameters = paths?.['/things']?.get?.parameters as {name: string; deprecated?: boolean; description?: string}[];
  t.like(parameters[0], {name: 'colour', deprecated: true, 'x-deprecation': {sunset: '2027-08-15'}});
  t.like(parameters[0], {description: 'A colour', allowReserved: true}, 'with what it had before');
  t.is(parameters[1]?.deprecated, undefined);
  const thing = components?.schemas?.Thing as {properties: Record<string, {deprecated?: boolean}>};
  t.like(thing.properties.weight, {deprecated: true, 'x-deprecation': {since: '2027-01-15'}});
  t.is(thing.properties.name?.deprecated, undefined);
  t.deepEqual(
    deprecations().map(({operation, part}) => [operation, part]),
    [
      ['getOld', {in: 'operation'}],
      ['listThings', {in: 'query', name: 'colour'}],
      ['createThing', {in: 'body', path: ['weight']}],
      ['createThing', {in: 'body', path: ['parts', '*', 'kind']}],
    ],
  );
});

test('a deprecated operation says so on every answer, success or failure', async t => {
  const {send} = await startDeprecatedApi(t);

  for (const [method, path, status] of [
    ['GET', '/old/1', 200],
    ['HEAD', '/old/1', 200],
    ['GET', '/old/x', 400],
  ] as const) {
    const answer = await send(method, path);
    t.is(answer.status, status);
    t.is(answer.headers.get('deprecation'), `@${Date.UTC(2027, 0, 1) / 1000}`);
    t.is(answer.headers.get('sunset'), 'Thu, 01 Jul 2027 00:00:00 GMT');
    t.is(answer.headers.get('x-deprecated'), 'GET /old/{id}');
    t.regex(String(answer.headers.get('link')), /<https:\/\/mfd\.test\/old>; rel="deprecation"; type="text\/html"$/);
  }
  t.regex(String((await send('GET', '/old/1')).headers.get('link')), /rel="first".*rel="deprecation"/, 'beside the other links');
});

test('a deprecated parameter or field is told of where it is sent, and nowhere else', async t => {
  const {send} = await startDeprecatedApi(t);
  const toldOf = async (...request: Parameters<typeof send>) => {
    const {status, headers} = await send(...request);
    return [status, headers.get('x-deprecated'), headers.get('deprecation'), headers.get('sunset')];
  };
  const at = (...day: [number, number, number]) => `@${Date.UTC(...day) / 1000}`;
  const colour = ['parameter colour of GET /things', at(2027, 1, 1), 'Sun, 15 Aug 2027 00:00:00 GMT'];
  const field = (names: string) => [names, at(2027, 0, 15), 'Wed, 01 Sep 2027 00:00:00 GMT'];
  const silent = [null, null, null];

  t.deepEqual(await toldOf('GET', '/things?size=1'), [200, ...silent]);
  t.deepEqual(await toldOf('GET', '/things?colour=red'), [200, ...colour]);
  t.deepEqual(await toldOf('GET', '/things?colour=red&more=1'), [400, ...colour]);
  t.deepEqual(await toldOf('POST', '/things', '{"name": "x", "parts": [{"no": 1}]}'), [200, ...silent]);
  t.deepEqual(await toldOf('POST', '/things', '{"name": "x", "weight": 2}'), [200, ...field('field weight of POST /things')]);
  t.deepEqual(await toldOf('POST', '/things', '{"name": "x", "weight": null, "parts": [{"no": 1}, {"no": 2, "kind": null}]}'), [
    422,
    ...field('field weight of POST /things, field parts.kind of POST /things'),
  ]);
  for (const [body, status] of [
    ['{', 400],
    ['"weight"', 422],
    ['{"name": "x", "parts": {"kind": 1}}', 422],
  ] as const)
    t.deepEqual(await toldOf('POST', '/things', body), [status, ...silent], body);
});

test('requests that use something deprecated are counted, by names of the description only', async t => {
  const {send, metricsText} = await startDeprecatedApi(t);
  const counted = async () =>
    Object.fromEntries(
      [...(await metricsText()).matchAll(/^mfd_api_deprecated_requests_total\{operation="(\w+)",part="([^"]+)"\} (\d+)$/gm)].map(
        ([, operation, part, count]) => [`${operation} ${part}`, Number(count)],
      ),
    );
  const none = {
    'getOld operation': 0,
    'listThings query colour': 0,
    'createThing body weight': 0,
    'createThing body parts.kind': 0,
  };

  t.deepEqual(await counted(), none);
  for (const path of ['/old/1', '/old/x', '/things?colour=secret', '/things', '/nothing']) await send('GET', path);
  await send('POST', '/things', '{"name": "x", "weight": 2}');

  t.deepEqual(await counted(), {...none, 'getOld operation': 2, 'listThings query colour': 1, 'createThing body weight': 1});
});

(hasPromtool ? test : test.skip)('promtool has nothing to say against that count (needs promtool)', async t => {
  const {send, metricsText} = await startDeprecatedApi(t);
  await send('GET', '/old/1');

  t.is(await promtool(await metricsText()), '');
});

test('the API tells of what its description calls deprecated', async t => {
  const use: DeprecatedUse = {
    operation: 'listDomains',
    method: 'GET',
    path: '/domains',
    part: {in: 'operation'},
    deprecation: {since: '2027-01-01', sunset: '2027-07-01'},
  };
  const known: Record<string, unknown> = {
    deprecations: [use],
    metrics: createMetrics('1.0.0'),
    log: pino({level: 'silent'}),
    membership: {requireMember: () => undefined},
    keys: {
      identify: async () => ({id: 1, scope: 'full-admin', rate_limit_per_minute: 1}),
      admit: () => ({kind: 'all'}),
    },
    limits: {take: async () => ({isAllowed: true, limit: 1, remaining: 1, resetSeconds: 1})},
    domains: {list: () => []},
  };
  const needs = new Proxy(known, {get: (there, name) => Reflect.get(there, name) ?? {}});
  const server = createServer(createApi(needs as unknown as Parameters<typeof createApi>[0]).callback());
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => server.close());
  const ask = async (path: string) =>
    fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/api/v1/${path}`, {headers: {connection: 'close'}});

  const {status, headers} = await ask('domains');

  t.is(status, 200);
  t.is(headers.get('x-deprecated'), 'GET /domains');
  t.is((await ask('domains/1/nothing')).headers.get('deprecation'), null);
});

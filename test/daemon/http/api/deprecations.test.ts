import test from 'ava';
import {description, startDeprecatedApi} from '../../../helpers/deprecated-api.ts';
import {hasPromtool, promtool} from '../../../helpers/promtool.ts';

test('the mark of an operation, a parameter or a field stands in the description', t => {
  const {paths, components} = description();
  const mark = {since: '2027-01-01', sunset: '2027-07-01'};
  const marked = {deprecated: true, 'x-deprecation': mark};

  t.like(paths?.['/old/{id}']?.get, marked);
  t.is(paths?.['/things']?.get?.deprecated, undefined);
  t.like(paths?.['/things']?.get?.parameters?.[0], {name: 'colour', ...marked});
  t.like(components?.schemas?.Thing, {properties: {weight: marked}});
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

test('other operations say nothing of it, also where a parameter is marked in the description', async t => {
  const {send} = await startDeprecatedApi(t);

  for (const path of ['/things', '/things?colour=red', '/nothing']) {
    const {headers} = await send('GET', path);
    for (const name of ['deprecation', 'sunset', 'x-deprecated', 'link']) t.is(headers.get(name), null, `${name} of ${path}`);
  }
});

test('requests for a deprecated operation are counted', async t => {
  const {send, metricsText} = await startDeprecatedApi(t);
  const counted = async () => (await metricsText()).match(/^mfd_api_deprecated_requests_total\{.*$/gm);
  const series = 'mfd_api_deprecated_requests_total{operation="getOld",part="operation"}';

  t.deepEqual(await counted(), [`${series} 0`]);
  for (const path of ['/old/1', '/old/x', '/things?colour=red', '/nothing']) await send('GET', path);

  t.deepEqual(await counted(), [`${series} 2`]);
});

(hasPromtool ? test : test.skip)('promtool has nothing to say against that count (needs promtool)', async t => {
  const {send, metricsText} = await startDeprecatedApi(t);
  await send('GET', '/old/1');

  t.is(await promtool(await metricsText()), '');
});

// Searches through the API, with a quarantine that answers when the test says so.
import test, {type ExecutionContext} from 'ava';
import {createKeySearches, SearchOverdue} from '../../../../daemon/services/search-limits.ts';
import {startBareApi} from '../../../helpers/bare-api.ts';
import {eventually} from '../../../helpers/eventually.ts';

const startApi = async (t: ExecutionContext, waitMs: number) => {
  const waiting: (() => void)[] = [];
  const asked: string[] = [];
  const answer = async <T>(result: T, filter: {subject?: string | undefined}) => {
    asked.push(filter.subject ?? 'no search');
    if (filter.subject === 'much') throw new SearchOverdue('a test', 'for nobody');
    if (filter.subject !== undefined) await new Promise<void>(resolve => waiting.push(resolve));
    return {result, unreachable: []};
  };
  const {url, server} = await startBareApi(t, {
    quarantine: {
      list: async (_actor: unknown, filter: object) => answer({mails: [], total: 0}, filter),
      summary: async (_actor: unknown, filter: object) => answer({count: 0}, filter),
    },
    dmarc: {
      view: {
        summary: async () => answer({}, {subject: 'DMARC'}),
        sources: async () => answer({}, {subject: 'DMARC'}),
      },
    },
    trace: {
      find: async () => answer([], {subject: 'trace'}),
      show: async () => (await answer([], {subject: 'trace'})).result,
    },
    keySearches: createKeySearches({atOnce: 4, waitMs}),
  });
  const connections = {begun: 0, closed: 0};
  server.on('request', (_request, response) => {
    connections.begun += 1;
    response.once('close', () => {
      connections.closed += 1;
    });
  });
  const ask = async (path: string, signal?: AbortSignal) => {
    const place = /^\/(dmarc|mail)/.test(path) ? path : `/mail/quarantine${path}`;
    const response = await fetch(`${url}${place}`, {headers: {connection: 'close'}, ...(signal && {signal})});
    return {
      status: response.status,
      headers: response.headers,
      body: (await response.json()) as {error: {detail: string} | null},
    };
  };
  const end = () => {
    for (const resolve of waiting.splice(0)) resolve();
  };
  return {ask, asked, connections, end};
};

test('a fifth search of a key is 429 after its wait, lists and counts alike, and a list without a search is answered', async t => {
  const {ask, asked, end} = await startApi(t, 50);
  const four = ['?subject=ab', '/summary?subject=ab', '?subject=ab&limit=5', '/summary?subject=ab&domain=a.test'].map(
    async path => ask(path),
  );
  await eventually(() => asked.length === 4);

  for (const path of ['?subject=cd', '/summary?subject=cd']) {
    const {status, headers, body} = await ask(path);
    t.is(status, 429);
    t.is(headers.get('retry-after'), '5');
    t.regex(body.error?.detail ?? '', /searches of this key/);
  }
  t.is((await ask('?domain=a.test&limit=5&offset=10')).status, 200);
  t.is((await ask('/summary')).status, 200);

  end();
  t.deepEqual(
    (await Promise.all(four)).map(({status}) => status),
    [200, 200, 200, 200],
  );
  t.deepEqual(asked, ['ab', 'ab', 'ab', 'ab', 'no search', 'no search']);
});

test('each trace is a search of its key, also without a filter and of one mail', async t => {
  const {ask, asked, end} = await startApi(t, 50);
  const paths = ['/mail/trace', '/mail/trace?node=mx1', '/mail/trace?domain=a.test', '/mail/trace/mx1/Q1w2E3r4T5'];
  const four = paths.map(async path => ask(path));
  await eventually(() => asked.length === 4);

  for (const path of [...paths, '?subject=ab']) t.is((await ask(path)).status, 429, path);

  end();
  t.deepEqual(
    (await Promise.all(four)).map(({status}) => status),
    [200, 200, 200, 200],
  );
});

test('a fifth search is answered once one of the four is, and one whose client has gone is never made', async t => {
  const {ask, asked, connections, end} = await startApi(t, 60_000);
  const four = Array.from({length: 4}, async () => ask('?subject=ab'));
  await eventually(() => asked.length === 4);
  const client = new AbortController();
  const left = ask('?subject=left', client.signal);
  const fifth = ask('?subject=fifth');

  await eventually(() => connections.begun === 6);
  client.abort();
  await t.throwsAsync(left, {any: true});
  await eventually(() => connections.closed === 1);
  end();
  await Promise.all(four);
  await eventually(() => asked.includes('fifth'));
  end();

  t.is((await fifth).status, 200);
  t.deepEqual(
    asked.filter(subject => subject !== 'ab'),
    ['fifth'],
  );
});

test('a search that takes too long is 503 and says to narrow it', async t => {
  const {ask} = await startApi(t, 50);

  const {status, headers, body} = await ask('?subject=much');

  t.is(status, 503);
  t.regex(body.error?.detail ?? '', /narrow the search/);
  // The same search would take as long again.
  t.is(headers.get('retry-after'), null);
});

test('what was received and reported for a domain counts as a search of the key', async t => {
  const {ask, asked, end} = await startApi(t, 50);
  const paths = ['/dmarc/summary?domain=a.test', '/dmarc/sources?domain=a.test', '/dmarc/sources?domain=b.test&verified=true'];
  const four = [...paths, '?subject=ab'].map(async path => ask(path));
  await eventually(() => asked.length === 4);

  for (const path of paths) t.is((await ask(path)).status, 429);
  end();
  t.deepEqual(
    (await Promise.all(four)).map(({status}) => status),
    [200, 200, 200, 200],
  );
});

import {readFile} from 'node:fs/promises';
import {setImmediate as nextTurn} from 'node:timers/promises';
import test, {type ExecutionContext} from 'ava';
import {createExchange, wholeBodyOf} from '../../../cli/client/exchange.ts';
import {type Reply, startApi} from '../../helpers/cli/scripted-api.ts';

test('a connection is kept for a hundred requests, and nothing of them stays with it', async t => {
  const api = await startApi(t, {'GET /things': {data: []}});
  const warnings: string[] = [];
  const warned = ({message}: Error) => void warnings.push(message);
  process.on('warning', warned);
  t.teardown(() => process.off('warning', warned));
  const exchange = await createExchange({ca: await readFile(api.env.MFCTL_CACERT, 'utf8')});

  for (let count = 0; count < 100; count += 1) {
    const request = {method: 'GET', headers: {}, body: undefined, signal: undefined};
    const response = await exchange(new URL('/api/v1/things', api.url), request);
    await wholeBodyOf(response, performance.now());
    t.is(response.statusCode, 200);
  }
  await nextTurn();

  t.deepEqual(warnings, []);
});

/** A kept connection that is closed while the next request is under way; `next` is that request. */
const afterEnd = async (t: ExecutionContext, next: {method: string}) => {
  let count = 0;
  const endsSecond = (): Reply => {
    count += 1;
    return count === 2 ? {stream: response => void response.socket?.destroy()} : {data: count};
  };
  const api = await startApi(t, {'GET /things': endsSecond, 'POST /things': endsSecond});
  const exchange = await createExchange({ca: await readFile(api.env.MFCTL_CACERT, 'utf8')});
  const ask = async (method: string) => {
    const request = {method, headers: {}, body: undefined, signal: undefined};
    return wholeBodyOf(await exchange(new URL('/api/v1/things', api.url), request), performance.now());
  };
  await ask('GET');
  // Only then is the connection free for the next request.
  await nextTurn();
  return {answer: ask(next.method), api};
};

test('what is asked on a kept connection that ends is asked again', async t => {
  const {answer, api} = await afterEnd(t, {method: 'GET'});

  t.is(JSON.parse((await answer).toString()).data, 3);
  t.is(api.requests.length, 3);
});

test('what changes something is never sent twice', async t => {
  const {answer, api} = await afterEnd(t, {method: 'POST'});

  await t.throwsAsync(answer, {code: 'ECONNRESET'});
  t.is(api.requests.length, 2);
});

test('a node that says nothing for as long as it may is one that does not answer, on a kept connection too', async t => {
  let count = 0;
  const api = await startApi(t, {
    'GET /things': () => {
      count += 1;
      return count === 1 ? {data: []} : {isHeld: true};
    },
  });
  const exchange = await createExchange({ca: await readFile(api.env.MFCTL_CACERT, 'utf8')});
  const request = {method: 'GET', headers: {}, body: undefined, signal: undefined, silenceMs: 300};
  const url = new URL('/api/v1/things', api.url);
  await wholeBodyOf(await exchange(url, request), performance.now());
  await nextTurn();

  await t.throwsAsync(exchange(url, request), {code: 'ETIMEDOUT'});
});

test('a connection that ends at its first request is an error', async t => {
  const api = await startApi(t, {'GET /things': {stream: response => void response.socket?.destroy()}});
  const exchange = await createExchange({ca: await readFile(api.env.MFCTL_CACERT, 'utf8')});
  const request = {method: 'GET', headers: {}, body: undefined, signal: undefined};

  await t.throwsAsync(exchange(new URL('/api/v1/things', api.url), request), {code: 'ECONNRESET'});
  t.is(api.requests.length, 1);
});

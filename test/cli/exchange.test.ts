import {readFile} from 'node:fs/promises';
import {setImmediate as nextTurn} from 'node:timers/promises';
import test from 'ava';
import {createExchange} from '../../cli/api/exchange.ts';
import {startApi} from './scripted-api.ts';

test('a connection is kept for a hundred requests, and nothing of them stays with it', async t => {
  const api = await startApi(t, {'GET /things': {data: []}});
  const warnings: string[] = [];
  const warned = ({message}: Error) => void warnings.push(message);
  process.on('warning', warned);
  t.teardown(() => process.off('warning', warned));
  const exchange = await createExchange({ca: await readFile(api.env.MFCTL_CACERT, 'utf8')});

  for (let count = 0; count < 100; count += 1) {
    const request = {method: 'GET', headers: {}, body: undefined, signal: undefined};
    t.is((await exchange(new URL('/api/v1/things', api.url), request)).status, 200);
  }
  await nextTurn();

  t.deepEqual(warnings, []);
});

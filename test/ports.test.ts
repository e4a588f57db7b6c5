import {execFile} from 'node:child_process';
import {once} from 'node:events';
import {createServer} from 'node:net';
import {promisify} from 'node:util';
import test from 'ava';
import {freePort, refusedByFetch} from './helpers/ports.ts';

const freePortsOfAnother = async (): Promise<number[]> => {
  const helper = new URL('./helpers/ports.ts', import.meta.url).href;
  const code = `import {freePort} from ${JSON.stringify(helper)};
    const ports = [];
    for (let n = 0; n < 20; n += 1) ports.push(await freePort());
    console.log(JSON.stringify(ports));`;
  const {stdout} = await promisify(execFile)(process.execPath, ['--import=tsx', '--input-type=module', '--eval', code]);
  return JSON.parse(stdout);
};

test('no two are given the same port, in one process or in two, though nobody listens there yet', async t => {
  const own = await Promise.all(Array.from({length: 20}, freePort));
  const others = await freePortsOfAnother();

  const all = [...own, ...others];
  t.is(new Set(all).size, 40);
  t.true(Math.max(...all) < 10_000);
});

test('a port where somebody listens is not given', async t => {
  const first = await freePort();
  const next = createServer().listen(first + 1, '127.0.0.1');
  t.teardown(() => next.close());
  await once(next, 'listening');

  t.not(await freePort(), first + 1);
});

test('the ports that are never given are those that fetch refuses to ask', async t => {
  const dispatcher = {
    dispatch() {
      throw new Error('asked');
    },
  } as unknown as NonNullable<RequestInit['dispatcher']>;
  const refused: number[] = [];
  for (let port = 4000; port < 10_000; port += 1) {
    const error: Error = await fetch(`http://127.0.0.1:${port}/`, {dispatcher}).then(
      () => t.fail(),
      failure => failure,
    );
    if (String(error.cause).includes('bad port')) refused.push(port);
  }

  t.deepEqual(refused, refusedByFetch);
});

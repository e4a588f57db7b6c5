// Addresses, clocks of changes, and limits in a cluster whose nodes run on hosts of their own.

import {setTimeout as delay} from 'node:timers/promises';
import test from 'ava';
import {startCluster} from '../helpers/cluster.ts';
import {mostInAMinute} from '../helpers/limited-nodes.ts';
import {networkMissing, startNetwork} from '../helpers/network.ts';

const onNetwork = networkMissing === undefined ? test : test.skip;
if (networkMissing !== undefined) test.skip(`[network] ${networkMissing}`, () => undefined);

const names = ['mx1', 'mx2', 'mx3'] as const;

onNetwork('[network] a node that is cut off while something is changed is silent, and not configured otherwise', async t => {
  const network = await startNetwork(t, names);
  const {nodes, converged} = await startCluster(t, {nodes: names, network, isProxied: false});
  const {mx1} = nodes;
  const {id} = await mx1.createDomain();
  await converged();

  await network.cut('mx3', 'mx1');
  await network.cut('mx3', 'mx2');
  await mx1.updateDomain(id, {quarantine_threshold: 5});
  const codes = new Set<number>();
  let last = '';
  for (let seconds = 0; seconds < 30; seconds += 1) {
    const {code, stdout} = await mx1.mfctl(['cluster', 'check', '--drift-age', '10']);
    codes.add(code);
    last = stdout;
    await delay(1000);
  }

  t.false(codes.has(2), last);
  t.regex(last, /WARNING: no answer from mx3 for \d+ s \|.* 'drift_age'=0s/);
});

onNetwork('[network] three nodes together let no more than half of a limit pass beyond it', async t => {
  const limit = 60;
  const network = await startNetwork(t, names);
  const {nodes, converged} = await startCluster(t, {nodes: names, network, isProxied: false});
  const {key} = await nodes.mx1.createKey('read-only', {rate_limit_per_minute: limit});
  await converged();
  const passed: number[] = [];

  for (let wave = 0; wave < 4; wave += 1) {
    await Promise.all(
      Object.values(nodes).flatMap(node =>
        Array.from({length: 40}, async () => {
          if ((await node.api('GET', 'auth/me', {key})).status === 200) passed.push(performance.now());
        }),
      ),
    );
    await delay(1500);
  }

  t.true(passed.length >= limit, `${passed.length} passed`);
  t.true(mostInAMinute(passed) <= 1.5 * limit, `${mostInAMinute(passed)} passed within a minute`);
});

onNetwork('[network] a listener for both families names a client by its IPv4 address', async t => {
  const network = await startNetwork(t, ['mx1']);
  const {nodes} = await startCluster(t, {nodes: ['mx1'], network, isProxied: false});
  const {mx1} = nodes;
  await mx1.stop();
  await mx1.start({MFD_API_LISTEN: `[::]:${new URL(mx1.api_url).port}`, MFD_API_ADVERTISE: new URL(mx1.api_url).host});

  await mx1.createDomain();

  const [entry] = (await mx1.api('GET', 'audit?action=domain.create')).json.data;
  t.is(entry.remote_address, network.address);
  t.false(mx1.log().includes('::ffff:'));
  t.is((await mx1.status()).peers[0]?.api_url, mx1.api_url);
});

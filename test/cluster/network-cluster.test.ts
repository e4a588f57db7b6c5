// Addresses, clocks of changes, and limits in a cluster whose nodes run on hosts of their own.

import {setTimeout as delay} from 'node:timers/promises';
import {startCluster} from '../helpers/cluster.ts';
import {networkMissing, startNetwork} from '../helpers/network.ts';
import {testWith} from '../helpers/test-with.ts';

const onNetwork = testWith('network', networkMissing);

const names = ['mx1', 'mx2', 'mx3'] as const;

onNetwork('a node that is cut off while something is changed is silent, and not configured otherwise', async t => {
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
  // By the clock: after a minute it would be stale, however few checks a busy machine has run.
  for (const endsAt = performance.now() + 30_000; performance.now() < endsAt; ) {
    const {code, stdout} = await mx1.mfctl(['cluster', 'check', '--drift-age', '10']);
    codes.add(code);
    last = stdout;
    await delay(1000);
  }

  t.false(codes.has(2), last);
  t.regex(last, /WARNING: no answer from mx3 for \d+ s\b.* 'drift_age'=0s/);
});

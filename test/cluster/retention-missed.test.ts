import {setTimeout as delay} from 'node:timers/promises';
import test from 'ava';
import {startCluster} from '../helpers/cluster.ts';
import {eventually} from '../helpers/eventually.ts';

const keptMs = 8000;
const sweepMs = 3000;

test('a node that was away when a domain asked to hold its mail for longer deletes none of it before it hears the others', async t => {
  const retention = {days: keptMs / 86_400_000, sweep_interval: sweepMs / 1000};
  const {nodes, isolate, heal} = await startCluster(t, {nodes: ['alpha', 'beta'], config: {retention}});
  const {alpha, beta} = nodes;
  const {id, name} = await alpha.createDomain();
  await eventually(async () => beta.domain(id));
  await alpha.hold({to: `ben@${name}`});
  const heldAt = performance.now();
  await alpha.stop();
  t.is((await beta.api('PUT', `domains/${id}/retention`, {body: {days: 90}})).status, 200);
  await delay(Math.max(0, heldAt + keptMs - performance.now()));

  isolate('alpha');
  await alpha.start();
  // Its first sweep.
  await delay(sweepMs + 1000);
  heal();
  await eventually(async () => (await alpha.api('GET', `domains/${id}/retention`)).json.data.days === 90);
  await delay(sweepMs + 1000);

  t.is((await alpha.api('GET', 'mail/quarantine?node=alpha')).headers['x-total-count'], '1');
});

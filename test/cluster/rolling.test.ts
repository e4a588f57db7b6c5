// A rolling restart of all nodes while mail arrives and clients work: nothing is lost, and every failure can be retried.
import {setTimeout as delay} from 'node:timers/promises';
import test from 'ava';
import {startCluster} from '../helpers/cluster.ts';
import {underLoad} from '../helpers/rolling-load.ts';

test('a restart of all nodes in turn under load loses nothing, and nobody is told what they could not try again', async t => {
  const cluster = await startCluster(t);

  await underLoad(t, cluster, async all => {
    for (const node of all) {
      await delay(1000);
      t.is(await node.stop(), 0, `${node.node_id} ended well`);
      await node.start();
    }
  });
});

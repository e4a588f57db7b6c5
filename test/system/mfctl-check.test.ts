// `cluster check` against a healthy cluster, and against one with failures.
import test from 'ava';
import {startCluster} from '../helpers/cluster.ts';
import {eventually} from '../helpers/eventually.ts';

test('a cluster is OK, a node that is cut off while something is changed is a warning, and critical when nobody answers', async t => {
  const {nodes, isolate, heal, converged} = await startCluster(t);
  const {alpha, gamma} = nodes;
  const {id} = await alpha.createDomain();
  await converged();
  const check = async () => alpha.mfctl(['cluster', 'check', '--drift-age', '1']);
  /** The next heartbeats of the others tell each node that they reach all nodes. */
  const allWell = async () =>
    eventually(async () => {
      const [checked, byGamma] = await Promise.all([check(), gamma.mfctl(['cluster', 'check'])]);
      return checked.code === 0 && byGamma.code === 0 && checked;
    });

  const well = await allWell();
  isolate('gamma');
  await alpha.updateDomain(id, {quarantine_threshold: 5});
  const apart = await eventually(async () => {
    const checked = await check();
    // Another node may have noticed it earlier.
    return checked.stdout.includes('no answer from gamma') && checked;
  });
  heal();
  await converged();
  const healed = await allWell();
  await alpha.stop();
  const silent = await check();
  const other = await gamma.mfctl(['cluster', 'check']);

  t.deepEqual([well.code, well.stderr], [0, '']);
  t.regex(well.stdout, /^MFD CLUSTER OK: 3 nodes, all online and configured alike \| 'nodes'=3;;;0 'online'=3;/);
  t.is(apart.code, 1);
  t.regex(apart.stdout, /^MFD CLUSTER WARNING: no answer from gamma for \d+ s \|/);
  t.is(healed.code, 0);
  t.is(silent.code, 2);
  t.regex(silent.stdout, /^MFD CLUSTER CRITICAL: cannot reach .* \(unreachable\) \| 'time'=/);
  t.is(other.code, 1, 'alpha is not stale yet');
  t.regex(other.stdout, /^MFD CLUSTER WARNING: no answer from alpha for \d+ s \|/);
});

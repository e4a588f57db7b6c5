// `cluster check` against a cluster, and against one that is falling apart.
import test from 'ava';
import {startCluster} from '../helpers/cluster.ts';
import {eventually} from '../helpers/eventually.ts';

test('a cluster is OK until its configurations differ, and critical when nobody answers', async t => {
  const {nodes, isolate, heal, converged} = await startCluster(t);
  const {alpha, gamma} = nodes;
  const {id} = await alpha.createDomain();
  await converged();
  const check = async (...args: string[]) => alpha.mfctl(['cluster', 'check', '--drift-age', '5', ...args]);

  const well = await check();
  isolate('gamma');
  await alpha.updateDomain(id, {quarantine_threshold: 5});
  const apart = await eventually(async () => {
    const checked = await check();
    return checked.code === 2 && checked;
  });
  const patient = await check('--drift-age', '1h');
  heal();
  await converged();
  const healed = await eventually(async () => {
    const checked = await check();
    return checked.code === 0 && checked;
  });
  await alpha.stop();
  const silent = await check();
  const other = await gamma.mfctl(['cluster', 'check']);

  t.deepEqual([well.code, well.stderr], [0, '']);
  t.regex(well.stdout, /^MFD CLUSTER OK: 3 nodes, all online and configured alike \| 'nodes'=3;;;0 'online'=3;/);
  t.is(apart.code, 2);
  t.regex(apart.stdout, /^MFD CLUSTER CRITICAL: gamma configured unlike the rest(, no answer from gamma for \d+ s)? \|/);
  t.true(patient.code < 2, 'gamma may be stale by now');
  t.is(healed.code, 0);
  t.is(silent.code, 2);
  t.regex(silent.stdout, /^MFD CLUSTER CRITICAL: cannot reach .* \(unreachable\) \| 'time'=/);
  t.is(other.code, 1, 'alpha is not stale yet');
  t.regex(other.stdout, /^MFD CLUSTER WARNING: no answer from alpha for \d+ s \|/);
});

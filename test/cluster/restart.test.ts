// `cluster check` right after a node has been restarted.
import test, {type ExecutionContext} from 'ava';
import {type ClusterNode, startCluster} from '../helpers/cluster.ts';
import {eventually} from '../helpers/eventually.ts';

const start = async (t: ExecutionContext) => {
  const config = {cluster: {heartbeat_interval: 10}};
  const {nodes} = await startCluster(t, {nodes: ['mx1', 'mx2', 'mx3'] as const, isProxied: false, config});
  const all = Object.values(nodes);
  const checked = async (node: ClusterNode) => node.mfctl(['cluster', 'check']);
  await eventually(async () => (await Promise.all(all.map(checked))).every(({code}) => code === 0), 60_000);
  /** What the nodes say in the first seconds after a start, several times each. */
  const checks = async () => {
    const lines: string[] = [];
    for (let n = 0; n < 5; n += 1)
      lines.push(...(await Promise.all(all.map(checked))).map(({stdout}) => stdout.split('|')[0] ?? ''));
    return lines;
  };
  return {nodes, checks};
};

test('a node that was stopped and started again is reached by all others, as every node sees it at once', async t => {
  const {nodes, checks} = await start(t);
  await nodes.mx1.stop();
  // The others hear each other's heartbeats while it is away, and say in them that it does not answer.
  await eventually(async () => (await nodes.mx2.status()).peers.some(({unanswered_since}) => unanswered_since !== null));
  await nodes.mx1.start();

  for (const line of await checks()) t.regex(line, /^MFD CLUSTER (OK: 3 nodes|WARNING: no answer from mx1)/);
});

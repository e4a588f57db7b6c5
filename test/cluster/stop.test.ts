// Nodes that stop and start while another one hangs.
import {text} from 'node:stream/consumers';
import test, {type ExecutionContext} from 'ava';
import {parseHostPort} from '../../shared/host-port.ts';
import {type ClusterNode, startCluster} from '../helpers/cluster.ts';
import {watchEvents} from '../helpers/event-stream.ts';
import {eventually} from '../helpers/eventually.ts';
import {standIn} from '../helpers/false-peer.ts';
import {startMute} from '../helpers/mute-server.ts';
import {callPeer, nodeCredentials} from '../helpers/peer-call.ts';
import {testOwnStore} from '../helpers/test-own-store.ts';

/** The time that a stopping node gives to requests and sessions under way. */
const graceSeconds = 7;

const startTwo = async (t: ExecutionContext) => {
  const {nodes, converged} = await startCluster(t, {
    nodes: ['alpha', 'beta'] as const,
    isProxied: false,
    config: {cluster: {drift_after: 1}},
  });
  await converged();
  return nodes;
};

const stopped = async (node: ClusterNode) => {
  const since = performance.now();
  const code = await node.stop();
  return {code, seconds: (performance.now() - since) / 1000};
};

const addressOf = ({cluster_url}: ClusterNode) => parseHostPort(cluster_url.replace('https://', '')) ?? {port: 0, host: ''};

/** Replaces `beta`: repeats alpha's heartbeats with `difference` in them, and answers nothing else. */
const startHanging = async (t: ExecutionContext, beta: ClusterNode, difference: object): Promise<{paths: Set<string>}> => {
  const paths = new Set<string>();
  await standIn(t, beta, async (path, request, response) => {
    const body = await text(request);
    paths.add(path);
    if (path !== 'heartbeat') return;
    const data = {...JSON.parse(body), node_id: 'beta', node_no: 2, key_uses: [], ...difference};
    response.setHeader('Content-Type', 'application/json');
    response.end(JSON.stringify({data, error: null, message: 'OK'}));
  });
  return {paths};
};

test.serial('a node that another one listens to stops without waiting for that to end', async t => {
  const {alpha, beta} = await startTwo(t);
  const watch = await watchEvents(t, beta);
  t.is(await watch.listening(), ': listening to all nodes');

  const {code, seconds} = await stopped(alpha);

  t.is(code, 0);
  t.true(seconds < graceSeconds, `${seconds} s`);
  t.log(`${seconds.toFixed(1)} s`);
  t.false(watch.isEnded(), 'whoever watches on another node goes on');
});

const stopsInTime = test.macro(async (t, difference: object, awaited: string) => {
  const {alpha, beta} = await startTwo(t);
  await Promise.all([alpha.stop(), beta.stop()]);
  const {paths} = await startHanging(t, beta, difference);
  await alpha.start();
  await eventually(() => paths.has(awaited));

  const {code, seconds} = await stopped(alpha);

  t.is(code, 0);
  t.true(seconds < graceSeconds, `${seconds} s`);
  t.log(`${seconds.toFixed(1)} s`);
  t.notRegex(alpha.log(), /"level":"error"/);
});

testOwnStore.serial(
  'a node that takes the configuration from one that hangs stops in time',
  stopsInTime,
  {applied: {1: 1_000_000, 2: 5}},
  'records',
);

testOwnStore.serial(
  'a node that compares its configuration with one that hangs stops in time',
  stopsInTime,
  {config_hash: `sha256:${'1'.repeat(64)}`},
  'digests',
);

test.serial('a node that starts while another one hangs has its metrics at once, and acts for the other nodes', async t => {
  const {alpha, beta} = await startTwo(t);
  const {name} = await alpha.createDomain();
  const mail = await alpha.hold({to: `ada@${name}`});
  const credentials = await nodeCredentials(beta);
  await Promise.all([alpha.stop(), beta.stop()]);
  await startMute(t, addressOf(beta));
  const isOpen = async () =>
    fetch(`${alpha.metrics_url}/healthz`).then(
      ({ok}) => ok,
      () => false,
    );

  const starting = alpha.start();
  await eventually(isOpen);
  const metrics = await fetch(`${alpha.metrics_url}/metrics`);
  const actor = {key_id: 1_000_000_001, scope: 'full-admin', reach: {kind: 'all'}, remote_address: null};
  const body = {actor, queue_id: mail.queue_id, action: 'release'};
  const released = await eventually(async () =>
    callPeer(alpha, credentials, {method: 'POST', path: 'hold/act', body}).catch(() => undefined),
  );
  const ready = await fetch(`${alpha.metrics_url}/readyz`);
  const why = await ready.text();
  await starting;

  t.deepEqual([metrics.status, released.status, released.json.data?.state], [200, 200, 'released']);
  t.regex(await metrics.text(), /mfd_cluster_nodes/);
  t.regex(why, /the node is starting/);
  t.is((await fetch(`${alpha.metrics_url}/readyz`)).status, 200);
});

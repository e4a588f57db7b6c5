// A compromised node with its own certificate: limits of what the others accept from it.

import test from 'ava';
import {formatStamp} from '../../daemon/replication/clock.ts';
import type {ConfigRecord} from '../../daemon/services/records.ts';
import {type ClusterNode, startCluster} from '../helpers/cluster.ts';
import {eventually} from '../helpers/eventually.ts';
import {heartbeatOf, startFalsePeer} from '../helpers/false-peer.ts';
import {callPeer, nodeCredentials} from '../helpers/peer-call.ts';

const isolated = {isProxied: false, config: {cluster: {drift_after: 1}}} as const;

const recordsOf = async (node: ClusterNode): Promise<{applied: Record<string, number>; records: ConfigRecord[]}> =>
  (await callPeer(node, await nodeCredentials(node), {path: 'records'})).json.data;

const peerAt = async (node: ClusterNode, name: string) => (await node.status()).peers.find(({node_id}) => node_id === name);

test.serial('one stamp of a member does not end the replication of others, and everybody is told of it', async t => {
  const {nodes} = await startCluster(t, isolated);
  const {alpha, beta, gamma} = nodes;
  const {id} = await alpha.createDomain();
  await eventually(async () => gamma.domain(id));
  const asGamma = await nodeCredentials(gamma);
  const {applied} = await recordsOf(alpha);
  await gamma.stop();
  const late = (no: number) => ({
    seq: (applied[3] ?? 0) + no,
    event: {
      stamp: formatStamp(Date.now(), 0, 3),
      changes: [{kind: 'domain', id, deleted: null, fields: {quarantine_threshold: [1, 'e5ffffffffff.ffff.0003']}}],
    },
  });

  const told = await callPeer(alpha, asGamma, {method: 'POST', path: 'events', body: {floor: 0, events: [late(1)]}});
  const isAlarm = (await peerAt(alpha, 'gamma'))?.outbox_refused;
  const check = await alpha.mfctl(['cluster', 'check']);
  const metrics = await (await fetch(`${alpha.metrics_url}/metrics`)).text();
  await alpha.updateDomain(id, {quarantine_threshold: 4});
  const passedOn = await eventually(async () => {
    const domain = await beta.domain(id);
    return domain?.quarantine_threshold === 4 && domain;
  });

  t.deepEqual([told.status, told.json.data.left_out], [200, `domain ${id} (quarantine_threshold)`]);
  t.true(isAlarm);
  t.is(check.code, 2, check.stdout);
  t.regex(check.stdout, /gamma has changes that another node refuses/);
  t.regex(metrics, /^mfd_cluster_outbox_refused\{node="gamma"\} 1$/m);
  t.regex(metrics, /^mfd_cluster_outbox_refused\{node="beta"\} 0$/m);
  t.is(passedOn.quarantine_threshold, 4);
  t.like((await alpha.audit('replication.refuse'))[0], {target: 'gamma', result: 'validation_failed'});
});

test.serial('a node whose clock is years ahead is told that its changes are refused, and says so itself', async t => {
  const {nodes} = await startCluster(t, {...isolated, nodes: ['alpha', 'beta']});
  const {alpha, beta} = nodes;
  const {id} = await alpha.createDomain();
  await eventually(async () => beta.domain(id));
  await beta.stop();
  let isRefusing = false;
  await startFalsePeer(t, beta, {
    heartbeat: () => heartbeatOf(beta, 2, {has_authority: false, ...(isRefusing && {refuses_yours: 'dated too far ahead'})}),
    events: () => ({applied: 1000}),
  });
  const before = await eventually(async () => peerAt(alpha, 'alpha'));

  isRefusing = true;
  const own = await eventually(async () => {
    const peer = await peerAt(alpha, 'alpha');
    return peer?.outbox_refused && peer;
  });
  const lines = alpha.log();
  isRefusing = false;
  await eventually(async () => (await peerAt(alpha, 'alpha'))?.outbox_refused === false);

  t.false(before.outbox_refused);
  t.true(own.outbox_refused);
  t.regex(lines, /refuses changes from this one/);
});

test.serial('a node whose clock is off is named by status and check', async t => {
  const {nodes, converged} = await startCluster(t, {...isolated, nodes: ['alpha', 'beta']});
  const {alpha, beta} = nodes;
  await converged();
  const right = await peerAt(alpha, 'beta');
  await beta.stop();
  const heartbeat = () => heartbeatOf(beta, 2, {has_authority: false, clock_ms: Date.now() - 45_000});
  await startFalsePeer(t, beta, {heartbeat, events: () => ({applied: 1000})});

  const wrong = await eventually(async () => {
    const peer = await peerAt(alpha, 'beta');
    return (peer?.clock_skew_s ?? 0) < -40 && peer;
  });
  const check = await alpha.mfctl(['cluster', 'check']);
  const status = await alpha.mfctl(['cluster', 'status']);

  t.true(Math.abs(right?.clock_skew_s ?? 99) < 5);
  t.is((await peerAt(alpha, 'alpha'))?.clock_skew_s, 0);
  t.true(wrong.clock_skew_s !== null && wrong.clock_skew_s >= -49);
  t.is(check.code, 1);
  t.regex(check.stdout, /the clock of beta is 4\d s behind that of alpha/);
  t.regex(status.stdout, /online, .*clock 4\d s behind/);
});

test.serial(
  'what a member serves as records renames no node, moves no address, and leaves what it plants in the audit',
  async t => {
    const {nodes} = await startCluster(t, isolated);
    const {alpha, beta, gamma} = nodes;
    await alpha.createDomain();
    const {applied, records} = await recordsOf(alpha);
    await gamma.stop();
    const stamp = (no: number) => formatStamp(Date.now() + 5000, 0, no);
    const moved = records
      .filter(({kind, id}) => kind === 'node' && id !== 3)
      .map(record => ({
        ...record,
        fields: {
          ...record.fields,
          node_id: [`evil-${record.id}`, stamp(record.id)],
          fqdn: ['evil.test', stamp(record.id)],
          cluster_url: ['https://evil.test:1', stamp(record.id)],
          api_url: ['https://evil.test:2', stamp(record.id)],
        },
      }));
    const admin = records.find(({kind}) => kind === 'api_key');
    const planted = {
      kind: 'api_key',
      id: 1_000_009_999,
      deleted: null,
      fields: Object.fromEntries(
        Object.entries({...admin?.fields, key_hash: ['0'.repeat(64), ''], name: ['planted', '']}).map(([name, [value]]) => [
          name,
          [value, stamp(1)],
        ]),
      ),
    };
    const {asked} = await startFalsePeer(t, gamma, {
      // More of alpha's events than exist: alpha then applies all records of gamma.
      heartbeat: () => heartbeatOf(gamma, 3, {applied: {1: (applied[1] ?? 0) + 3}}),
      events: () => ({applied: (applied[1] ?? 0) + 3}),
      records: () => ({applied, records: [...moved, planted], next: null}),
      digests: () => ({digests: [], next: null}),
    });

    const entry = await eventually(async () =>
      (await alpha.audit('key.replicate')).find(({target}) => target === String(planted.id)),
    );
    const status = await alpha.status();

    t.true(asked.includes('records'));
    t.is(entry.detail, 'full-admin planted, made on alpha, served by gamma in a snapshot');
    t.deepEqual(
      status.peers.map(({node_id, fqdn}) => [node_id, fqdn]),
      (await beta.status()).peers.map(({node_id, fqdn}) => [node_id, fqdn]),
    );
    t.false(JSON.stringify(status).includes('evil'));
    t.is((await beta.api('GET', 'auth/me')).status, 200);
  },
);

test.serial('the keys that a removed node has made are listed and revoked, but for the one that is used to do it', async t => {
  const {nodes, converged} = await startCluster(t, {...isolated, nodes: ['alpha', 'beta']});
  const {alpha, beta} = nodes;
  const made = (await beta.api('POST', 'auth/api-keys', {body: {name: 'made on beta', scope: 'full-admin'}})).json.data;
  const kept = (await alpha.api('POST', 'auth/api-keys', {body: {name: 'made on alpha', scope: 'read-only'}})).json.data;
  await converged();
  const origin = (await alpha.audit('key.replicate')).find(({target}) => target === String(made.id));
  const listed = (await alpha.api('GET', 'cluster/nodes/beta')).json.data;

  const removed = await alpha.mfctl(['cluster', 'remove', 'beta', '--revoke-keys', '--yes']);

  t.like(origin, {detail: 'full-admin made on beta, made on beta', key_id: null});
  t.like(listed, {node_id: 'beta', node_no: 2});
  t.deepEqual(
    listed.keys.map(({id}: {id: number}) => id),
    [made.id],
  );
  t.is(removed.code, 0, removed.stderr);
  t.regex(removed.stderr, /revoked 1 key/);
  t.is((await alpha.api('GET', 'auth/me', {key: made.key})).json.error.code, 'key_revoked');
  t.is((await alpha.api('GET', 'auth/me', {key: kept.key})).status, 200);
});

test.serial('a node that stops is without an answer at once for the others, and one that dies after two heartbeats', async t => {
  const {nodes, converged} = await startCluster(t, isolated);
  const {alpha, beta, gamma} = nodes;
  await converged();
  await eventually(async () => (await alpha.status()).peers.every(({unanswered_since}) => unanswered_since === null));

  await beta.stop();
  const stopped = await peerAt(alpha, 'beta');
  await gamma.stop('SIGKILL');
  const died = await eventually(async () => {
    const peer = await peerAt(alpha, 'gamma');
    return peer?.unanswered_since ? peer : undefined;
  });
  const table = await alpha.mfctl(['cluster', 'status']);
  const check = await alpha.mfctl(['cluster', 'check']);
  await gamma.start();
  await eventually(async () => (await peerAt(alpha, 'gamma'))?.unanswered_since === null);

  t.is(stopped?.healthy, 'online');
  t.truthy(stopped?.unanswered_since);
  t.is(died?.healthy, 'online');
  t.regex(table.stdout, /beta .*online, no answer for \d+ s/);
  t.is(check.code, 1, check.stdout);
  t.regex(check.stdout, /WARNING: no answer from beta for \d+ s, no answer from gamma for \d+ s/);
});

test.serial('what a node does for a caller of another one is in its audit with the node that asked', async t => {
  const {nodes, converged} = await startCluster(t, {...isolated, nodes: ['alpha', 'beta']});
  const {alpha, beta} = nodes;
  await alpha.createDomain({name: 'held.test'});
  await converged();
  const {queue_id} = await beta.hold({to: 'b@held.test'});

  const discarded = await alpha.api('POST', `mail/quarantine/beta/${queue_id}/discard`);

  t.is(discarded.status, 200);
  t.like((await beta.audit('quarantine.discard'))[0], {
    target: `beta/${queue_id}`,
    detail: 'asked through alpha',
    key_name: 'admin',
  });
});

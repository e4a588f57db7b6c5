// Refused outboxes: both ends report it when a peer refuses an outbox, for as long as this lasts.

import test, {type ExecutionContext} from 'ava';
import {formatStamp} from '../../../../daemon/replication/clock.ts';
import type {Drift} from '../../../../daemon/replication/drift.ts';
import {createEventInbox} from '../../../../daemon/replication/event-inbox.ts';
import {createHeartbeatExchange} from '../../../../daemon/replication/heartbeat-exchange.ts';
import {createKeyDirectory} from '../../../../daemon/services/access/key-directory.ts';
import {createRateLimiter} from '../../../../daemon/services/access/rate-limit.ts';
import {createNodeDirectory} from '../../../../daemon/services/cluster/membership.ts';
import {openPeerStates} from '../../../../daemon/services/cluster/peer-states.ts';
import {createRefusals} from '../../../../daemon/services/cluster/refusals.ts';
import {addDomain, createReplica, everything, sender} from '../../../helpers/replica.ts';

const license = {valid: true, type: 'community', status: 'active', expires_at: '9999-12-31T23:59:59Z'};
const calm: Drift = {compare: async () => {}, repair: async () => {}, explain: async () => Promise.reject(new Error('not here'))};

const arrange = async (t: ExecutionContext, nodeNo: number) => {
  const replica = await createReplica(t, nodeNo);
  const {store, configuration, replication} = replica;
  await configuration.change(async tx => {
    for (const id of [1, 2])
      await tx.create('node', id, {
        node_id: sender(id).nodeId,
        fqdn: `mx${id}.test`,
        cluster_url: `https://mx${id}.test:8444`,
        api_url: null,
        created_at: tx.at,
      });
  });
  const directory = await createNodeDirectory(store, configuration);
  const said: string[] = [];
  const refusals = createRefusals(({peer, why}) => said.push(`${peer}: ${why ?? 'taken'}`));
  const peerStates = await openPeerStates({
    store,
    appliedOf: store.applied.of,
    directory,
    nodeNo,
    now: Date.now,
    monotonic: () => performance.now(),
  });
  const inbox = createEventInbox({replication, refusals});
  const exchange = createHeartbeatExchange({
    store,
    replication,
    inbox,
    peerStates,
    limiter: createRateLimiter({now: Date.now, monotonic: () => performance.now()}),
    keyDirectory: await createKeyDirectory(store, configuration),
    drift: calm,
    directory,
    refusals,
    nodeId: sender(nodeNo).nodeId,
    nodeNo,
    version: '1.0.0',
    license: () => license,
    hasAuthority: true,
    dmarc: () => ({config: '', is_unset: false}),
    problems: () => [],
    recipientsUrl: () => undefined,
    now: Date.now,
  });
  return {...replica, directory, refusals, peerStates, inbox, exchange, said};
};

const late = (id: number) => [
  {
    kind: 'domain' as const,
    id,
    deleted: null,
    fields: {active: [false, formatStamp(Date.now() + 1e9, 0, 2)] as [boolean, string]},
  },
];

test('what is left out of a batch is in the answer, and in the heartbeats until a batch is taken whole', async t => {
  const alpha = await arrange(t, 1);
  const id = await addDomain(alpha, 'one.test');
  const event = (seq: number, changes: ReturnType<typeof late>) => ({
    floor: 0,
    events: [{seq, event: {stamp: formatStamp(Date.now(), 0, 2), changes}}],
  });

  const answer = await alpha.inbox.receive(sender(2), event(1, late(id)));
  const {heartbeat: during} = await alpha.exchange.heartbeat(2, 0);
  const {heartbeat: toAnother} = await alpha.exchange.heartbeat(3, 0);
  await alpha.inbox.receive(sender(2), {floor: 0, events: []});
  const {heartbeat: afterProbe} = await alpha.exchange.heartbeat(2, 0);
  await alpha.inbox.receive(sender(2), event(2, []));
  const {heartbeat: after} = await alpha.exchange.heartbeat(2, 0);

  t.deepEqual(answer, {applied: 1, left_out: `domain ${id} (active)`});
  t.deepEqual(
    [during, toAnother, afterProbe, after].map(({refuses_yours}) => refuses_yours),
    [`domain ${id} (active)`, undefined, `domain ${id} (active)`, undefined],
  );
});

test('a batch that is refused is told like one that is left out', async t => {
  const alpha = await arrange(t, 1);
  const beta = await arrange(t, 2);
  await addDomain(beta, 'one.test');
  const request = await beta.replication.batchAfter(1, everything);

  await t.throwsAsync(alpha.inbox.receive(sender(3), {...request, events: request.events.map(one => ({...one, seq: 1}))}), {
    message: /stamps of another node/,
  });

  t.regex((await alpha.exchange.heartbeat(3, 0)).heartbeat.refuses_yours ?? '', /stamps of another node/);
});

test('a node that a peer refuses says so in its own heartbeats, once in its log, and no more when it is over', async t => {
  const alpha = await arrange(t, 1);
  const beta = await arrange(t, 2);
  const {heartbeat} = await beta.exchange.heartbeat(1, 0);

  await alpha.exchange.receiveHeartbeat(sender(2), {...heartbeat, refuses_yours: 'clock'});
  await alpha.exchange.receiveHeartbeat(sender(2), {...heartbeat, refuses_yours: 'clock'});
  const {heartbeat: during} = await alpha.exchange.heartbeat(2, 0);
  await alpha.exchange.receiveHeartbeat(sender(2), heartbeat);
  const {heartbeat: after} = await alpha.exchange.heartbeat(2, 0);

  t.deepEqual([during.outbox_refused, after.outbox_refused], [true, false]);
  t.deepEqual(alpha.said, ['2: clock', '2: taken']);
});

test('a heartbeat brings the names and addresses of its node, and of no other', async t => {
  const alpha = await arrange(t, 1);
  const beta = await arrange(t, 2);
  await beta.configuration.change(async tx => tx.update('node', 2, {cluster_url: 'https://moved.test:8444'}));
  const {heartbeat} = await beta.exchange.heartbeat(1, 0);
  if (!heartbeat.self) throw new Error('no node record in the heartbeat');

  await alpha.exchange.receiveHeartbeat(sender(2), {...heartbeat, self: {...heartbeat.self, id: 1}});
  await alpha.exchange.receiveHeartbeat(sender(2), {
    ...heartbeat,
    self: {...heartbeat.self, deleted: formatStamp(Date.now(), 0, 2)},
  });
  const before = alpha.directory.list().map(({cluster_url}) => cluster_url);
  await alpha.exchange.receiveHeartbeat(sender(2), heartbeat);

  t.deepEqual(before, ['https://mx1.test:8444', 'https://mx2.test:8444']);
  t.deepEqual(
    alpha.directory.list().map(({cluster_url}) => cluster_url),
    ['https://mx1.test:8444', 'https://moved.test:8444'],
  );
});

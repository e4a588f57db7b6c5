import test, {type ExecutionContext} from 'ava';
import {createConfiguration} from '../../../../daemon/replication/configuration.ts';
import {createNodeDirectory} from '../../../../daemon/services/cluster/membership.ts';
import type {Heartbeat} from '../../../../daemon/services/cluster/peer-protocol.ts';
import {type HealthChange, openPeerStates} from '../../../../daemon/services/cluster/peer-states.ts';
import {testStore} from '../../../helpers/store.ts';

const start = Date.parse('2026-06-01T12:00:00.000Z');
const hash = `sha256:${'ab'.repeat(32)}`;
const license = {valid: true, type: 'community', status: 'active', expires_at: '9999-12-31T23:59:59Z'};

const heartbeat = (fields: Partial<Heartbeat> = {}): Heartbeat => ({
  node_id: 'beta',
  node_no: 2,
  version: '0.2.0',
  clock_ms: start,
  config_hash: hash,
  config_hash_age_s: 7,
  last_seq: 12,
  applied: {},
  license,
  has_authority: false,
  key_counts: {window: 0, counts: []},
  key_uses: [],
  ...fields,
});

const arrange = async (t: ExecutionContext, intervalMs?: number) => {
  const {store} = await testStore(t, {isDurable: false});
  const time = {wall: start, steady: 1_000_000};
  const pass = (seconds: number) => {
    time.wall += seconds * 1000;
    time.steady += seconds * 1000;
  };
  const now = () => time.wall;
  const configuration = createConfiguration({store, nodeNo: 1, now});
  await configuration.change(async tx => {
    for (const [id, node_id] of [
      [1, 'alpha'],
      [2, 'beta'],
    ] as const)
      await tx.create('node', id, {
        node_id,
        fqdn: `${node_id}.test`,
        cluster_url: `https://${node_id}.test:8444`,
        api_url: `https://${node_id}.test:8443`,
        created_at: tx.at,
      });
  });
  const directory = await createNodeDirectory(store, configuration);
  const open = async () =>
    openPeerStates({
      ...{store, appliedOf: store.applied.of, directory, nodeNo: 1, now, monotonic: () => time.steady},
      ...(intervalMs !== undefined && {intervalMs}),
    });
  const beta = directory.findById('beta');
  if (!beta) throw new Error('no beta');
  return {store, configuration, time, pass, open, beta, states: await open()};
};

test('a node is online below 60 s, stale to 300 s, and offline after that', async t => {
  const {states, beta, pass} = await arrange(t);
  states.received(heartbeat());

  t.is(states.healthOf(beta), 'online');
  pass(59.999);
  t.is(states.healthOf(beta), 'online');
  pass(0.001);
  t.is(states.healthOf(beta), 'stale');
  pass(240);
  t.is(states.healthOf(beta), 'stale');
  pass(0.001);
  t.is(states.healthOf(beta), 'offline');
  states.received(heartbeat());
  t.is(states.healthOf(beta), 'online');
});

test('the entry says what the node said, and when by the clock of this one', async t => {
  const {states, beta, pass, store} = await arrange(t);
  states.received(heartbeat({clock_ms: start + 600_000}));
  await store.transaction(async tx => tx.applied.note(2, 9));
  pass(30);

  t.deepEqual(await states.entryOf(beta), {
    node_id: 'beta',
    fqdn: 'beta.test',
    api_url: 'https://beta.test:8443',
    last_seen: '2026-06-01T12:00:00.000Z',
    healthy: 'online',
    config_hash: hash,
    config_hash_age_s: 37,
    outbox_backlog_to_us: 3,
    license,
    unanswered_since: null,
    unreachable_from: [],
    config_differs_since: null,
    clock_skew_s: 600,
    has_authority: false,
    dmarc_config: null,
    dmarc_unset: false,
  });
  t.deepEqual(states.skews(), {beta: 600});
});

test('what was said earlier and comes later is no news', async t => {
  const {states, pass} = await arrange(t);
  states.received(heartbeat({clock_ms: start + 1000, last_seq: 20}));
  pass(2);

  states.received(heartbeat({clock_ms: start + 900, last_seq: 12}));
  t.is(states.latest(2)?.last_seq, 20);
  states.received(heartbeat({clock_ms: start - 600_000, last_seq: 21}));
  t.is(states.latest(2)?.last_seq, 21, 'a clock that was set back');
});

test('a wall clock that jumps makes nobody stale', async t => {
  const {states, beta, time} = await arrange(t);
  states.received(heartbeat());

  time.wall += 3_600_000;
  t.is(states.healthOf(beta), 'online');
  time.wall -= 7_200_000;
  t.is(states.healthOf(beta), 'online');
  t.is((await states.entryOf(beta)).last_seen, new Date(time.wall).toISOString());
});

test('two heartbeats without an answer are told with the time of the first, and an answer ends it', async t => {
  const {states, beta, pass, time} = await arrange(t);
  const told = async () => (await states.entryOf(beta)).unanswered_since;
  states.received(heartbeat());

  states.unanswered(2);
  pass(10);
  const afterOne = await told();
  states.unanswered(2);
  pass(10);
  const afterTwo = await told();
  states.received(heartbeat());
  const whileHeard = await told();
  states.answered(2, time.steady);

  t.deepEqual([afterOne, afterTwo, whileHeard], [null, '2026-06-01T12:00:00.000Z', '2026-06-01T12:00:00.000Z']);
  t.is(await told(), null);
});

test('a node that says it stops is without an answer at once, and online by its age', async t => {
  const {states, beta, pass} = await arrange(t);
  states.received(heartbeat());
  pass(5);

  states.stopped(2);
  pass(5);

  t.like(await states.entryOf(beta), {healthy: 'online', unanswered_since: '2026-06-01T12:00:05.000Z'});
});

test('an answer from before a node said that it stops is no sign of life, and a later one is', async t => {
  const {states, beta, pass, time} = await arrange(t);
  const told = async () => (await states.entryOf(beta)).unanswered_since;
  states.received(heartbeat());
  const askedAtMs = time.steady;
  pass(1);
  states.stopped(2);

  states.answered(2, askedAtMs);
  const afterEarlier = await told();
  pass(5);
  states.answered(2, time.steady);

  t.is(afterEarlier, '2026-06-01T12:00:01.000Z');
  t.is(await told(), null);
});

test('a node that does not answer is named with those that get no answer and say so', async t => {
  const {states, beta, pass} = await arrange(t);
  states.received(heartbeat({unreached: [1]}));
  const once = async () => ({...(await states.entryOf(beta)), told: states.unreached(), own: states.unreachableFrom(1)});

  t.like(await once(), {unreachable_from: [], told: [], own: ['beta']});
  states.unanswered(2);
  states.unanswered(2);
  t.like(await once(), {unreachable_from: ['alpha'], told: [2], own: []}, 'it may have been stopped since');
  pass(5);
  states.received(heartbeat({unreached: [1]}));
  t.like(await once(), {unreachable_from: ['alpha'], told: [2], own: ['beta']}, 'it is heard all the same');
  pass(60);
  t.like(await once(), {own: []}, 'what was said long ago');
});

test('a node that has just started is not judged before the next heartbeats of the others, whether it had said that it stops or not', async t => {
  const {states, pass} = await arrange(t, 10_000);
  const others = () => states.unreachableFrom(2);
  const own = () => states.unreachableFrom(1);
  states.received(heartbeat({unreached: [1]}));

  t.deepEqual(own(), [], 'this node itself has just started');
  pass(25);
  states.received(heartbeat({unreached: [1]}));
  t.deepEqual(own(), ['beta']);
  states.stopped(2);
  t.deepEqual(others(), ['alpha']);
  states.received(heartbeat());
  t.deepEqual(others(), []);
  pass(12);
  states.received(heartbeat());
  pass(12);
  t.deepEqual(others(), []);
  states.received(heartbeat());
  pass(1);
  t.deepEqual(others(), ['alpha'], 'it has not answered since');
  pass(30);
  states.received(heartbeat());
  t.deepEqual(others(), [], 'back after a pause');
});

test('a node whose heartbeats arrive all the time, and that does not answer, is judged as before', async t => {
  const {states, pass} = await arrange(t, 10_000);
  pass(60);
  for (let n = 0; n < 4; n += 1) {
    states.received(heartbeat());
    pass(10);
  }
  states.unanswered(2);
  states.unanswered(2);
  states.received(heartbeat());

  t.deepEqual(states.unreachableFrom(2), ['alpha']);
});

test('a node that does not answer, and is heard, is told, so that it is asked at once', async t => {
  const {states} = await arrange(t);
  const heard: number[] = [];
  states.onHeardAgain(no => heard.push(no));
  states.received(heartbeat());
  states.stopped(2);
  states.received(heartbeat());

  t.deepEqual(heard, [2]);
});

test('a configuration differs since it was heard to, and only between nodes in touch', async t => {
  const {states, beta, pass, time} = await arrange(t);
  const since = async () => (await states.entryOf(beta)).config_differs_since;
  const differ = () => {
    states.received(heartbeat());
    states.compared(2, false);
  };

  differ();
  pass(20);
  differ();
  t.is(await since(), '2026-06-01T12:00:00.000Z');
  pass(60);
  t.is(await since(), null, 'it is stale');
  differ();
  t.is(await since(), '2026-06-01T12:01:20.000Z');
  states.unanswered(2);
  states.unanswered(2);
  t.is(await since(), null, 'it does not answer');
  differ();
  states.answered(2, time.steady);
  t.is(await since(), '2026-06-01T12:01:20.000Z');
  states.compared(2, true);
  t.is(await since(), null);
});

test('where a node is reached is not shown before it has spoken for itself', async t => {
  const {states, beta} = await arrange(t);
  const before = (await states.entryOf(beta)).api_url;

  states.received(heartbeat());

  t.deepEqual([before, (await states.entryOf(beta)).api_url], ['', 'https://beta.test:8443']);
});

test('a node that was never heard is as old as its record', async t => {
  const {states, beta, pass} = await arrange(t);

  t.is(states.healthOf(beta), 'online');
  pass(61);
  t.like(await states.entryOf(beta), {
    healthy: 'stale',
    last_seen: '2026-06-01T12:00:00.000Z',
    outbox_backlog_to_us: 0,
    license: {valid: false},
  });
});

test('what was heard is known after a restart, as old as it is', async t => {
  const {states, beta, pass, open} = await arrange(t);
  states.received(heartbeat());
  pass(10);
  await states.flush();
  pass(100);

  const again = await open();

  t.is(again.healthOf(beta), 'stale');
  t.like(await again.entryOf(beta), {last_seen: '2026-06-01T12:00:00.000Z', config_hash: hash, config_hash_age_s: 117});
});

test('what was heard from a node that has been removed is forgotten', async t => {
  const {states, store, configuration} = await arrange(t);
  await configuration.change(async tx =>
    tx.create('node', 3, {node_id: 'gamma', fqdn: 'gamma.test', cluster_url: null, api_url: null, created_at: tx.at}),
  );
  states.received(heartbeat());
  states.received(heartbeat({node_id: 'gamma', node_no: 3}));
  await states.flush();

  await configuration.change(async tx => tx.remove('node', 3));
  states.received(heartbeat());
  await states.flush();

  t.deepEqual(await store.read('peer_report').pluck('node_no'), [2]);
});

test('a change of health is told once, when it happens', async t => {
  const {states, pass} = await arrange(t);
  const changes: HealthChange[] = [];
  states.onHealth(change => changes.push(change));
  states.received(heartbeat());

  states.checkHealth();
  pass(61);
  states.checkHealth();
  states.checkHealth();
  states.received(heartbeat());
  states.checkHealth();

  t.deepEqual(changes, [
    {node_id: 'beta', from: 'online', to: 'stale'},
    {node_id: 'beta', from: 'stale', to: 'online'},
  ]);
});

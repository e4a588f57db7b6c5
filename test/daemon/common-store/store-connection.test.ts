import test from 'ava';
import {startChangeFollower} from '../../../daemon/common-store/change-follower.ts';
import {createStoreConnection} from '../../../daemon/common-store/store-connection.ts';
import type {CommonStore, ConfigPosition, StoreListeners} from '../../../daemon/services/common-store.ts';

const none = {spam: 0, phishing: 0, sandbox: 0, rbl: 0};

const arrange = (begun: ConfigPosition) => {
  const clock = {ms: 1000};
  const log: string[] = [];
  const connection = createStoreConnection({
    monotonic: () => clock.ms,
    onLost: () => log.push('lost'),
    onBack: () => log.push('back'),
  });
  const state = {isCurrent: true};
  let listeners: StoreListeners | undefined;
  const store = {
    notePresence: async () => {},
    outbox: {after: async () => ({floor: 0, entries: [{seq: 2, event: {stamp: '', changes: []}}]})},
    watch(given: StoreListeners) {
      listeners = given;
      return {stop: async () => {}};
    },
  } as unknown as CommonStore;
  const follower = startChangeFollower({
    store,
    configuration: {
      publish: async () => {},
      isCurrent: () => state.isCurrent,
      hasPublished: () => false,
      forgetPublished: () => {},
    },
    connection,
    begun,
    known: () => [],
    retention: () => ({retention_ms: none, longest_ms: none}),
    monotonic: () => clock.ms,
  });
  const hear = async (position: ConfigPosition, isNew = false, ageMs = 0) => listeners?.onPosition(position, isNew, ageMs);
  return {clock, log, connection, follower, state, hear, lose: () => listeners?.onLost(new Error('gone'))};
};

const first: ConfigPosition = {seq: 1, config_hash: 'one', changed_at_ms: 0};
const second: ConfigPosition = {seq: 2, config_hash: 'two', changed_at_ms: 0};

test('nothing is trusted before the store has confirmed it, and 5 s after it last did', async t => {
  const {clock, connection, hear} = arrange(first);
  t.false(connection.isFresh());

  await hear(first, true);
  t.true(connection.isFresh());
  clock.ms += 5000;
  t.true(connection.isFresh());
  clock.ms += 1;

  t.false(connection.isFresh());
  t.throws(connection.requireFresh, {code: 'unavailable'});
});

test('an answer that waited while the process was frozen confirms nothing', async t => {
  const {clock, connection, hear} = arrange(first);
  await hear(first, true);
  clock.ms += 1000;
  await hear(first);

  clock.ms += 60_000;
  await hear(first, false, 60_000);
  t.false(connection.isFresh());

  clock.ms += 1000;
  await hear(first);
  t.true(connection.isFresh());
});

test('a change that a listener has not worked through is not in memory, and nothing is confirmed', async t => {
  const {clock, connection, follower, state, hear} = arrange(first);
  await hear(first, true);
  state.isCurrent = false;
  for (let second_ = 0; second_ < 6; second_ += 1) {
    clock.ms += 1000;
    await hear(second);
  }

  t.is(follower.position().seq, 1);
  t.false(connection.isFresh());

  state.isCurrent = true;
  await hear(second);
  t.is(follower.position().seq, 2);
});

test('the loss of the store is reported once, and its return once', async t => {
  const {log, connection, hear, lose} = arrange(first);
  await hear(first, true);

  for (const _ of [1, 2, 3]) lose();
  t.false(connection.isReachable());
  await hear(first, true);
  await hear(first);

  t.true(connection.isReachable());
  t.deepEqual(log, ['lost', 'back']);
});

// The sender of an outbox against a scripted peer: what the peer acknowledges, when, and how it fails.

import {setTimeout as delay, setImmediate as turn} from 'node:timers/promises';
import test from 'ava';
import {startOutboxSender} from '../../../daemon/cluster/outbox-sender.ts';
import type {PeerClient} from '../../../daemon/cluster/peer-client.ts';
import type {EventsRequest} from '../../../daemon/services/cluster/peer-protocol.ts';
import type {Replication} from '../../../daemon/services/cluster/replication-ports.ts';
import {Fault} from '../../../shared/fault.ts';

/** An outbox with `last` events, and a peer that has applied `applied` of them. */
const arrange = ({last, applied = 0, floor = 0}: {last: number; applied?: number; floor?: number}) => {
  const state = {
    last,
    applied,
    floor,
    begunAt: last,
    goneBack: 0,
    isAway: false,
    losesAnswers: 0,
    sent: [] as number[][],
    largest: Number.POSITIVE_INFINITY,
  };
  const replication = {
    checkFirstAcknowledgement: async (told: number) => told > state.begunAt,
    batchAfter: async (after: number, {limit}: {limit: number}) => ({
      floor: state.floor,
      events: Array.from({length: Math.max(0, Math.min(limit, state.last - Math.max(after, state.floor)))}, (_, n) => ({
        seq: Math.max(after, state.floor) + 1 + n,
      })),
    }),
  } as unknown as Replication;
  const client = {
    async ask(_schema: unknown, {body}: {body: EventsRequest}) {
      await turn();
      if (state.isAway) throw new Fault('node_unreachable', 'away');
      if (body.events.length > state.largest) throw new Fault('outcome_unknown', 'too much for the line');
      state.sent.push(body.events.map(({seq}) => seq));
      if (state.applied >= body.floor) for (const {seq} of body.events) if (seq === state.applied + 1) state.applied = seq;
      if (state.losesAnswers > 0) {
        state.losesAnswers -= 1;
        throw new Fault('outcome_unknown', 'no answer');
      }
      return {applied: state.applied};
    },
  } as unknown as PeerClient;
  const failures: unknown[] = [];
  const refusals: (string | undefined)[] = [];
  const start = () =>
    startOutboxSender({
      client,
      replication,
      onGoneBack: () => {
        state.goneBack += 1;
      },
      onFailure: error => failures.push(error),
      onAnswer: why => refusals.push(why),
    });
  return {state, start, failures, refusals};
};

const until = async (condition: () => boolean): Promise<void> => {
  for (let tries = 0; !condition(); tries += 1) {
    if (tries > 2000) throw new Error('it never came to that');
    await delay(5);
  }
};

test('a peer is first asked how far it has come, and then told what is missing, in order', async t => {
  const {state, start} = arrange({last: 1200, applied: 700});

  const sender = start();
  t.teardown(sender.stop);
  await until(() => state.applied === 1200);

  t.deepEqual(state.sent[0], []);
  t.deepEqual(
    state.sent.flat(),
    Array.from({length: 500}, (_, n) => 701 + n),
  );
});

test('what is new is told when there is word of it', async t => {
  const {state, start} = arrange({last: 1});
  const sender = start();
  t.teardown(sender.stop);
  await until(() => sender.acknowledged === 1);

  state.last = 2;
  sender.wake();
  await until(() => sender.acknowledged === 2);

  t.deepEqual(state.sent, [[], [1], [2]]);
});

test('events whose acknowledgement was lost are sent again', async t => {
  const {state, start, failures} = arrange({last: 3});
  state.losesAnswers = 3;

  const sender = start();
  t.teardown(sender.stop);
  await until(() => sender.acknowledged === 3);

  t.is(state.applied, 3);
  t.is(failures.length, 3);
});

test('a peer that is back has everything, and who waited for it hears so', async t => {
  const {state, start} = arrange({last: 5});
  state.isAway = true;
  const sender = start();
  t.teardown(sender.stop);

  const whileAway = await sender.reached(5, 60_000);
  state.isAway = false;
  await until(() => sender.acknowledged === 5);

  t.false(whileAway, 'a peer that cannot be reached is not waited for');
  t.true(await sender.reached(5, 60_000));
});

test('a batch that does not get through is made smaller until it does', async t => {
  const {state, start} = arrange({last: 400});
  state.largest = 60;

  const sender = start();
  t.teardown(sender.stop);
  await until(() => sender.acknowledged === 400);

  t.true(state.sent.every(batch => batch.length <= 60));
});

test('a peer that has gone back in time is told again from where it is', async t => {
  const {state, start} = arrange({last: 10});
  const sender = start();
  t.teardown(sender.stop);
  await until(() => sender.acknowledged === 10);

  state.applied = 4;
  sender.reportedApplied(4);
  await until(() => state.applied === 10);

  t.deepEqual(state.sent.at(-1), [5, 6, 7, 8, 9, 10]);
});

test('a peer whose first word goes beyond what was known at the start says that this node has gone back in time, once', async t => {
  const {state, start} = arrange({last: 10, applied: 8});
  state.begunAt = 5;
  const sender = start();
  t.teardown(sender.stop);
  await until(() => sender.acknowledged === 10);

  state.last = 12;
  sender.wake();
  await until(() => sender.acknowledged === 12);

  t.is(state.goneBack, 1);
});

test('a peer that is behind the reach of the outbox is told the floor until it has caught up by itself', async t => {
  const {state, start} = arrange({last: 10, applied: 2, floor: 8});
  const sender = start();
  t.teardown(sender.stop);
  await until(() => state.sent.length > 2);
  t.is(sender.acknowledged, 2);

  state.applied = 9;
  await until(() => sender.acknowledged === 10);

  t.is(state.applied, 10);
});

test('after the end nobody is kept waiting', async t => {
  const {state, start} = arrange({last: 5});
  state.isAway = true;
  const sender = start();
  const waiting = sender.reached(6, 60_000);

  sender.stop();

  t.false(await waiting);
});

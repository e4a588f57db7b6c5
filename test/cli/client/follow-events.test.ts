import test from 'ava';
import {followEvents, type Pace} from '../../../cli/client/follow-events.ts';
import type {EventsWish} from '../../../cli/client/transport.ts';
import {CliError, exitCodes} from '../../../cli/errors.ts';
import type {StreamEvent} from '../../../shared/cluster-event.ts';
import {discardedEvent, healthEvent, heldEvent} from '../../helpers/cli/sample-records.ts';

type Connection = CliError | StreamEvent[];

const broken = new CliError('unreachable', 'the connection broke', {exitCode: exitCodes.unreachable});

/** Each connection fails, or sends its events and ends. `halt` aborts when no connection is left. */
const scripted = (connections: readonly Connection[], {random = (): number => 0, lastsMs = 0} = {}) => {
  const halt = new AbortController();
  const left = [...connections];
  const asked: unknown[] = [];
  const resumedAt: (string | undefined)[] = [];
  const slept: number[] = [];
  let nowMs = 0;
  const client = {
    async events({types, place}: EventsWish): Promise<AsyncIterable<StreamEvent>> {
      asked.push(types);
      resumedAt.push(place?.id);
      const connection = left.shift() ?? [];
      if (connection instanceof CliError) throw connection;
      return (async function* () {
        for (const event of connection) {
          if (place) place.id = `after ${event.type}`;
          yield event;
        }
        nowMs += lastsMs;
      })();
    },
  };
  const pace: Pace = {
    now: () => nowMs,
    random,
    async sleep(ms) {
      slept.push(ms);
      nowMs += ms;
      if (left.length === 0) halt.abort();
    },
  };
  return {client, pace, halt, asked, resumedAt, slept, signal: halt.signal};
};

test('every connection that ends or breaks is followed by another, and the listener is called in order', async t => {
  const {client, pace, signal, asked} = scripted([[heldEvent], broken, [discardedEvent, healthEvent]]);
  const heard: string[] = [];

  await followEvents(
    client,
    {
      types: ['held', 'discarded'],
      signal,
      onConnected: () => void heard.push('connected'),
      onEvent: event => void heard.push(event.type),
      onDisconnected: ({error}) => void heard.push(error?.code ?? 'ended'),
    },
    pace,
  );

  t.deepEqual(heard, ['connected', 'held', 'ended', 'unreachable', 'connected', 'discarded', 'health', 'ended']);
  t.deepEqual(asked, Array(3).fill(['held', 'discarded']));
});

test('attempts become rarer up to 30 s, are spread at random, and start again after a connection that lasted', async t => {
  const failures = Array<Connection>(7).fill(broken);
  const quick = scripted([...failures, []]);
  const late = scripted(failures, {random: () => 1});
  const steady = scripted([broken, broken, broken, [], broken], {lastsMs: 30_000});
  const listener = {onEvent: () => {}};

  for (const {client, pace, signal} of [quick, late, steady]) await followEvents(client, {...listener, signal}, pace);

  t.deepEqual(quick.slept, [1000, 2000, 4000, 8000, 15_000, 15_000, 15_000, 15_000], 'what ends at once did not last');
  t.deepEqual(late.slept, [2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000]);
  t.deepEqual(steady.slept, [1000, 2000, 4000, 1000, 2000]);
});

test('a node that asks for patience gets it, within reason', async t => {
  const busy = (retryAfterSeconds: number) =>
    new CliError('unavailable', 'later', {exitCode: exitCodes.unreachable, retryAfterSeconds});
  const {client, pace, signal, slept} = scripted([busy(40), busy(1), busy(1e9)]);
  const told: number[] = [];

  await followEvents(client, {signal, onEvent: () => {}, onDisconnected: ({retryInMs}) => void told.push(retryInMs)}, pace);

  t.deepEqual(slept, [40_000, 2000, 300_000]);
  t.deepEqual(told, slept);
});

test('what no repetition can mend ends it', async t => {
  for (const exitCode of [exitCodes.notAuthorised, exitCodes.notFound, exitCodes.usage]) {
    const refusal = new CliError('refused', 'no', {exitCode});
    const {client, pace, signal, slept} = scripted([[heldEvent], refusal, [heldEvent]]);

    t.is(await t.throwsAsync(followEvents(client, {signal, onEvent: () => {}}, pace)), refusal);
    t.is(slept.length, 1);
  }
});

test('an event waits until the one before, and the reading after the connection, are dealt with', async t => {
  const {client, pace, signal} = scripted([[heldEvent, healthEvent]]);
  const steps: string[] = [];
  const slowly = async (name: string) => {
    steps.push(`${name} begins`);
    await new Promise(resolve => setImmediate(resolve));
    steps.push(`${name} ends`);
  };

  await followEvents(client, {signal, onConnected: () => slowly('list'), onEvent: event => slowly(event.type)}, pace);

  t.deepEqual(steps, ['list begins', 'list ends', 'held begins', 'held ends', 'health begins', 'health ends']);
});

test('an abort ends it at once, and no event follows', async t => {
  const {client, pace, halt} = scripted([[heldEvent, healthEvent], [healthEvent]]);
  const heard: string[] = [];

  await followEvents(
    client,
    {
      signal: halt.signal,
      onEvent: event => {
        heard.push(event.type);
        halt.abort();
      },
      onDisconnected: () => void heard.push('disconnected'),
    },
    pace,
  );

  t.deepEqual(heard, ['held']);
});

test('what a listener throws is not taken for a broken connection', async t => {
  const {client, pace, signal, slept} = scripted([[heldEvent], [heldEvent]]);
  const failing = {signal, onEvent: () => Promise.reject(broken)};

  t.is(await t.throwsAsync(followEvents(client, failing, pace)), broken);
  t.deepEqual(slept, []);
});

test('each connection goes on after the last event of the one before, and says so', async t => {
  const {client, pace, signal, resumedAt} = scripted([broken, [heldEvent], broken, [], [discardedEvent]]);
  const resumed: boolean[] = [];

  await followEvents(client, {signal, onConnected: ({isResumed}) => void resumed.push(isResumed), onEvent: () => {}}, pace);

  t.deepEqual(resumedAt, [undefined, undefined, 'after held', 'after held', 'after held']);
  t.deepEqual(resumed, [false, true, true]);
});

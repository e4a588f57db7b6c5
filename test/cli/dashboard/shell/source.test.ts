import test from 'ava';
import type {ConnectionState, Live} from '../../../../cli/dashboard/shell/live.ts';
import {createSource, type SourceOptions} from '../../../../cli/dashboard/shell/source.ts';
import {CliError, exitCodes} from '../../../../cli/errors.ts';
import type {ClusterEvent} from '../../../../shared/cluster-event.ts';
import {heldEvent} from '../../../helpers/cli/sample-records.ts';
import {useFakeClock} from '../../../helpers/fake-clock.ts';

const fakeLive = (begun: ConnectionState = 'live') => {
  let connection = begun;
  const listeners = new Set<() => void>();
  const hearers = new Set<(event: ClusterEvent | undefined) => void>();
  const told: string[] = [];
  const live: Live = {
    get: () => ({connection, receivedAtMs: undefined, reason: undefined}),
    subscribe: listener => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    on: (_types, hear) => {
      hearers.add(hear);
      return () => hearers.delete(hear);
    },
    onMissed: () => () => undefined,
    answered: () => void told.push('answered'),
    failed: ({code}) => void told.push(code),
    stop: () => undefined,
  };
  const tell = (event: ClusterEvent | undefined = heldEvent) => {
    for (const hear of hearers) hear(event);
  };
  const become = (next: ConnectionState) => {
    connection = next;
    for (const listener of listeners) listener();
  };
  return {live, told, tell, hearers, listeners, become};
};

const countingSource = (needs: Partial<SourceOptions<number>> & Pick<SourceOptions<number>, 'now' | 'live'>) => {
  const reads: number[] = [];
  const source = createSource({
    refreshOn: ['held'],
    ...needs,
    load: async signal => {
      reads.push(needs.now());
      return (await needs.load?.(signal)) ?? reads.length;
    },
  });
  return {source, reads};
};

test.serial('a source is read while somebody looks, and not afterwards', async t => {
  const clock = useFakeClock(t);
  const {live} = fakeLive('polling');
  const {source, reads} = countingSource({live, now: clock.now});

  const leave = source.subscribe(() => undefined);
  await clock.advance(10_000);
  leave();
  await clock.advance(60_000);

  t.is(reads.length, 3);
  t.is(source.get().value, 3);
});

test.serial('what was kept fresh by events is read at once when there are no more of them, and once', async t => {
  const clock = useFakeClock(t);
  const {live, become, listeners} = fakeLive();
  const {source, reads} = countingSource({live, now: clock.now});
  const leave = source.subscribe(() => undefined);
  await clock.advance(10_000);
  t.is(reads.length, 1);

  become('offline');
  become('polling');
  await clock.advance(1000);

  t.is(reads.length, 2);
  leave();
  t.is(listeners.size, 0);
});

test.serial('a burst of events is read once', async t => {
  const clock = useFakeClock(t);
  const {live, tell} = fakeLive();
  const {source, reads} = countingSource({live, now: clock.now});
  source.subscribe(() => undefined);
  await clock.advance(5000);

  for (let n = 0; n < 20; n += 1) {
    tell();
    await clock.advance(10);
  }
  await clock.advance(2000);

  t.is(reads.length, 2);
});

test.serial('events without end put off no reading, and lead to no more of them than there may be', async t => {
  const clock = useFakeClock(t);
  const {live, tell} = fakeLive();
  const {source, reads} = countingSource({live, now: clock.now, minGapMs: 1500});
  source.subscribe(() => undefined);
  await clock.advance(0);

  for (let ms = 0; ms < 60_000; ms += 100) {
    tell();
    await clock.advance(100);
  }

  t.true(reads.length >= 30, `${reads.length} readings in a minute`);
  t.true(reads.length <= 42, `${reads.length} readings in a minute`);
});

test.serial('what was read stays with its age while the node is away, and is asked for less and less often', async t => {
  const clock = useFakeClock(t);
  const {live, told} = fakeLive('polling');
  let isAway = false;
  const {source, reads} = countingSource({
    live,
    now: clock.now,
    load: async () => {
      if (isAway) throw new CliError('unreachable', 'cannot reach it', {exitCode: exitCodes.unreachable});
      return 7;
    },
  });
  source.subscribe(() => undefined);
  await clock.advance(0);
  const readAtMs = clock.now();
  isAway = true;

  await clock.advance(120_000);
  const {value, loadedAtMs, failure} = source.get();
  const asked = reads.length;
  isAway = false;
  await clock.advance(15_000);

  t.deepEqual([value, loadedAtMs, failure?.code], [7, readAtMs, 'unreachable']);
  t.true(asked < 14, `asked ${asked} times in two minutes`);
  t.is(source.get().failure, undefined);
  t.deepEqual([told[0], told[1], told.at(-1)], ['answered', 'unreachable', 'answered']);
});

test.serial('a node that is back is asked at once, without waiting for the next attempt', async t => {
  const clock = useFakeClock(t);
  const {live, tell} = fakeLive();
  let isAway = true;
  const {source} = countingSource({
    live,
    now: clock.now,
    load: async () => {
      if (isAway) throw new CliError('unreachable', 'cannot reach it', {exitCode: exitCodes.unreachable});
      return 7;
    },
  });
  source.subscribe(() => undefined);
  await clock.advance(50_000);
  isAway = false;

  tell(undefined);
  await clock.advance(1500);

  t.is(source.get().value, 7);
});

test.serial('a key over its limit asks again when the node allows it, whatever events there are', async t => {
  const clock = useFakeClock(t);
  const {live, tell} = fakeLive();
  const {source, reads} = countingSource({
    live,
    now: clock.now,
    load: async () => {
      throw new CliError('rate_limited', 'too many', {exitCode: exitCodes.unreachable, retryAfterSeconds: 40});
    },
  });
  source.subscribe(() => undefined);

  for (let seconds = 0; seconds < 39; seconds += 1) {
    tell();
    await clock.advance(1000);
  }
  t.is(reads.length, 1);

  await clock.advance(2000);
  t.is(reads.length, 2);
});

test.serial('what is asked elsewhere says nothing of whether the node answers', async t => {
  const clock = useFakeClock(t);
  const {live, told} = fakeLive();
  const {source} = countingSource({
    live,
    now: clock.now,
    isElsewhere: true,
    load: async () => {
      throw new CliError('metrics', 'none');
    },
  });

  source.subscribe(() => undefined);
  await clock.advance(60_000);

  t.deepEqual(told, []);
});

test.serial('a screen that is left while it is read gets nothing old when it is shown again', async t => {
  const clock = useFakeClock(t);
  const {live} = fakeLive();
  const answers: ((value: number) => void)[] = [];
  const {source} = countingSource({live, now: clock.now, load: () => new Promise(resolve => void answers.push(resolve))});

  source.subscribe(() => undefined)();
  source.subscribe(() => undefined);
  answers[0]?.(1);
  await clock.advance(0);
  const afterOld = source.get().value;
  await clock.advance(2000);
  answers[1]?.(2);
  await clock.advance(0);

  t.is(afterOld, undefined);
  t.is(source.get().value, 2);
});

// Receivers that answer at random, and nodes that are killed at random: nothing is lost, whatever the order.
import {setImmediate as afterOthers, setTimeout as delay} from 'node:timers/promises';
import type {ExecutionContext} from 'ava';
import type {Store} from '../../../../daemon/services/ports.ts';
import {type LogRunner, startLogRunner} from '../../../../daemon/services/webhooks/log-runner.ts';
import type {PostResult} from '../../../../daemon/services/webhooks/webhook-transport.ts';
import {append, at, relayedEvent as event} from '../../../helpers/mail-event.ts';
import {createStepClock} from '../../../helpers/step-clock.ts';
import {nodeId, testSqlite} from '../../../helpers/store-makes.ts';
import {secret} from '../../../helpers/webhook-receiver.ts';

const hour = 3_600_000;
const mailCount = 40;

/** Mulberry32: the same numbers for the same seed. */
const randomOf = (seed: number) => {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
};

const answerOf = (status: number | null): PostResult => ({status, error: status === 200 ? null : `${status}`, took_ms: 1});

const play = async (t: ExecutionContext, store: Store, seed: number): Promise<void> => {
  const random = randomOf(seed);
  const oneOf = <T>(...values: readonly T[]): T => values[Math.floor(random() * values.length)] as T;
  const clock = createStepClock(Date.now());
  const taken = new Set<string>();
  const ids = new Map<string, string>();
  const failures: unknown[] = [];
  /** How a mail fares: how often it fails before it is taken, and with what. */
  const fates = new Map(
    Array.from({length: mailCount}, (_, n) => [
      `Mail${1000 + n}`,
      {status: oneOf(null, 500, 429, 302, 400, 404), fails: oneOf(0, 0, 0, 0, 1, 2, 3, 5, 99)},
    ]),
  );
  let isAlive = {now: true};
  let isGone = false;
  let onGone = (): void => {};
  const gone = new Promise<void>(resolve => {
    onGone = resolve;
  });
  /** Until everything waits. */
  const settled = async () => Promise.race([clock.asleep(2), gone]);

  const begin = (): LogRunner => {
    const mine = {now: true};
    isAlive = mine;
    return startLogRunner({
      webhook: {
        ...{id: 5, url: 'https://hooks.test/a', events: null, domain_id: 0, description: null, secret},
        ...{created_at: at(-1), disabled_at: null, disabled_because: null, replay: null},
      },
      ...{loggedBy: nodeId, store, version: '1', clock, random},
      async write(work) {
        if (!mine.now) throw new Error('killed');
        if (random() < 0.3) throw new Error('the disk is full');
        await store.transaction(async tx => work(tx.webhooks));
        return true;
      },
      async post({headers, body}) {
        const mail = JSON.parse(body).data.queue_id as string;
        const id = headers['webhook-id'] ?? '';
        if (ids.has(mail) && ids.get(mail) !== id) failures.push(`${mail} has two ids`);
        ids.set(mail, id);
        for (let n = Math.floor(random() * 4); n > 0; n -= 1) await afterOthers();
        const fate = fates.get(mail) ?? t.fail();
        fate.fails -= 1;
        if (fate.fails >= 0) return answerOf(fate.status);
        taken.add(mail);
        // Its answer may not arrive.
        return mine.now ? answerOf(200) : answerOf(null);
      },
      onDisable() {
        isGone = true;
        onGone();
      },
      ...{onResult() {}, onMissed: () => failures.push('missed')},
      onFailure(error) {
        if (!/killed|disk/.test(String(error))) failures.push(error);
      },
    });
  };

  let runner = begin();
  for (let n = 0; n < mailCount; ) {
    const some = Math.min(mailCount - n, 1 + Math.floor(random() * 12));
    await append(store, ...Array.from({length: some}, (_, k) => event(n + k)));
    n += some;
    for (let steps = Math.floor(random() * 4); steps >= 0; steps -= 1) {
      if (random() < 0.3) {
        isAlive.now = false;
        await runner.stop();
        runner = begin();
      }
      await Promise.race([settled(), delay(random() * 30)]);
      clock.move(oneOf(1000, 5500, 330_000, 2_000_000));
    }
  }
  for (let n = 0; n < 400 && !isGone; n += 1) {
    await settled();
    clock.move(n < 200 ? 360_000 : hour);
  }
  await runner.stop();

  const listed = await store.webhooks.deliveries({webhook_id: 5, limit: 100});
  const entries = await store.events.ofNumbers(
    nodeId,
    listed.map(({number}) => number),
  );
  const known = new Set([...taken, ...entries.map(({queue_id}) => queue_id)]);
  t.deepEqual(failures, [], `seed ${seed}`);
  if (!isGone)
    t.deepEqual(
      [...fates.keys()].filter(mail => !known.has(mail)),
      [],
      `seed ${seed}`,
    );
};

for (const seed of [1, 2, 3, 4, 5, 6])
  testSqlite(`whatever receivers answer, each event is taken or listed: ${seed}`, async (t, {store}) => play(t, store, seed));

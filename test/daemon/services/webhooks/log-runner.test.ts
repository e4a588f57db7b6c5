import type {ExecutionContext} from 'ava';
import {Webhook} from 'standardwebhooks';
import type {Store} from '../../../../daemon/services/ports.ts';
import type {StoredWebhook} from '../../../../daemon/services/records.ts';
import {type LogRunner, startLogRunner} from '../../../../daemon/services/webhooks/log-runner.ts';
import type {RunnerNeeds} from '../../../../daemon/services/webhooks/runner-needs.ts';
import type {PostResult} from '../../../../daemon/services/webhooks/webhook-transport.ts';
import {append, at, relayedEvent as event} from '../../../helpers/mail-event.ts';
import {createStepClock} from '../../../helpers/step-clock.ts';
import {nodeId, testSqlite, testStores} from '../../../helpers/store-makes.ts';
import {secret} from '../../../helpers/webhook-receiver.ts';

const minute = 60_000;
const hour = 60 * minute;
const taken: PostResult = {status: 200, error: null, took_ms: 1};
const failure = (status: number | null, more: Partial<PostResult> = {}): PostResult => ({
  status,
  error: status === null ? 'the connection was refused' : `it answered ${status}`,
  took_ms: 1,
  ...more,
});

const webhook: StoredWebhook = {
  ...{id: 5, url: 'https://hooks.test/a', events: null, domain_id: 0, description: null, secret},
  ...{created_at: at(0), disabled_at: null, disabled_because: null, replay: null},
};

interface Posted {
  mail: string | null;
  id: string;
}

type Answer = (mail: string, count: number) => PostResult | Promise<PostResult>;

/** A runner with a clock of its own. Its receiver answers by the mail that an event is about, and how often it got it. */
const begin = (t: ExecutionContext, store: Store, needs: Partial<RunnerNeeds> = {}) => {
  const clock = createStepClock(Date.now());
  const seen = {
    posted: [] as Posted[],
    underWay: 0,
    most: 0,
    gone: [] as string[],
    failures: [] as unknown[],
    missed: 0,
    results: [] as string[],
    answer: (() => taken) as Answer,
  };
  const post: RunnerNeeds['post'] = async ({url, headers, body}) => {
    const {data} = JSON.parse(body) as {data: {queue_id: string | null}};
    const id = headers['webhook-id'] ?? '';
    const signature = new Webhook(secret).sign(id, new Date(Number(headers['webhook-timestamp']) * 1000), body);
    t.is(headers['webhook-signature'], signature);
    t.is(url, webhook.url);
    seen.posted.push({mail: data.queue_id, id});
    seen.underWay += 1;
    seen.most = Math.max(seen.most, seen.underWay);
    const result = await seen.answer(data.queue_id ?? '', seen.posted.filter(({mail}) => mail === data.queue_id).length);
    seen.underWay -= 1;
    return result;
  };
  const startRunner = (more: Partial<RunnerNeeds> = {}): LogRunner =>
    startLogRunner({
      ...{webhook, loggedBy: nodeId, store, post, version: '1', clock, random: () => 0.5},
      async write(work) {
        await store.transaction(async tx => work(tx.webhooks));
        return true;
      },
      onDisable: because => seen.gone.push(because),
      onResult: result => seen.results.push(result),
      onMissed: () => {
        seen.missed += 1;
      },
      onFailure: error => seen.failures.push(error),
      ...needs,
      ...more,
    });
  let runner = startRunner();
  t.teardown(async () => runner.stop());

  /** Until everything waits. */
  const settled = async (): Promise<void> => clock.asleep(2);
  return {
    clock,
    seen,
    settled,
    runner: () => runner,
    async move(ms: number) {
      await settled();
      clock.move(ms);
      await settled();
    },
    async restart(more: Partial<RunnerNeeds> = {}) {
      await runner.stop();
      runner = startRunner(more);
      await settled();
    },
    mails: () => seen.posted.map(({mail}) => mail?.slice(-3)),
    progress: async () => (await store.webhooks.progress(webhook.id))[0],
    deliveries: async () => store.webhooks.deliveries({webhook_id: webhook.id, limit: 100}),
  };
};

const numbers = (from: number, to: number): string[] =>
  Array.from({length: to - from + 1}, (_, i) => String(from + i).padStart(3, '0'));
const events = (from: number, to: number) => Array.from({length: to - from + 1}, (_, i) => event(from + i));

testStores('all that was logged is sent once, in order, eight at once, and also after a restart', async (t, {store}) => {
  await append(store, ...events(1, 450));
  const {seen, mails, restart, clock, settled, progress} = begin(t, store);
  while (seen.posted.length < 450) {
    await settled();
    clock.move(1000);
    await new Promise(resolve => setTimeout(resolve, 5));
  }
  await settled();

  await restart();
  t.is(seen.posted.length, 450);
  await append(store, event(451));
  while (seen.posted.length < 451) {
    await settled();
    clock.move(1000);
    await new Promise(resolve => setTimeout(resolve, 5));
  }

  t.deepEqual(mails(), numbers(1, 451));
  t.is(seen.most, 8);
  t.is(new Set(seen.posted.map(({id}) => id)).size, 451);
  t.deepEqual(seen.failures, []);
  t.like(await progress(), {first: null, failing_since: null, status: 200, error: null});
});

testSqlite('after a failure nothing else is started, and after 5 s it is tried again', async (t, {store}) => {
  await append(store, ...events(1, 20));
  const {seen, mails, move, settled, progress} = begin(t, store);
  seen.answer = (mail, count) => (mail === 'Mail1003' && count === 1 ? failure(500) : taken);

  await settled();
  const before = mails();
  t.true(before.length <= 3 + 8);
  t.like(await progress(), {first: {tries: 1}, status: 500, error: 'it answered 500'});
  await move(4900);
  t.deepEqual(mails(), before);
  await move(200);

  t.is(mails().filter(mail => mail === '003').length, 2);
  t.is(mails()[before.length], '003');
  t.deepEqual(mails().toSorted(), [...numbers(1, 20), '003'].toSorted());
  t.like(await progress(), {first: null, failing_since: null, error: null});
});

testSqlite('one that fails three times lets the next one be tried, and goes on alone when that is taken', async (t, {store}) => {
  await append(store, ...events(1, 20));
  const {seen, mails, move, settled, progress, deliveries} = begin(t, store);
  seen.answer = mail => (mail === 'Mail1001' ? failure(null) : taken);
  const tries = () => mails().filter(mail => mail === '001').length;

  await settled();
  const others = mails().length - 1;
  await move(5000);
  t.is(tries(), 2);
  t.is(mails().length, others + 2);
  await move(5 * minute);
  t.is(tries(), 3);
  t.deepEqual(new Set(mails()), new Set(numbers(1, 20)));
  t.like(await progress(), {first: null, failing_since: null});
  t.like(await deliveries(), [{is_given_up: false, tries: 3, status: null, error: 'the connection was refused'}]);

  for (const [wait, count] of [
    [29 * minute, 3],
    [2 * minute, 4],
    [hour, 4],
    [61 * minute, 5],
    [5 * hour, 6],
    [10 * hour, 7],
    [14 * hour, 8],
    [20 * hour, 9],
    [24 * hour, 10],
    [24 * hour, 10],
  ] as const) {
    await move(wait);
    t.is(tries(), count, `${wait / minute} minutes later`);
  }
  t.like(await deliveries(), [{is_given_up: true, tries: 10, next_try_at: null}]);
  t.is(mails().length, 20 + 9);
  t.is(seen.results.filter(result => result === 'given_up').length, 1);
  t.deepEqual(seen.gone, []);
});

testSqlite('one that went on alone is gone when it is taken, and its success ends the failure', async (t, {store}) => {
  await append(store, ...events(1, 20));
  const {seen, mails, move, settled, deliveries} = begin(t, store);
  let isDown = true;
  seen.answer = mail => (mail === 'Mail1001' && isDown ? failure(503) : taken);
  await settled();
  await move(5000);
  await move(5 * minute);
  t.is((await deliveries()).length, 1);

  isDown = false;
  await move(31 * minute);

  t.deepEqual(await deliveries(), []);
  t.is(mails().filter(mail => mail === '001').length, 4);
  await move(100 * hour);
  t.is(mails().length, 23);
});

testSqlite('while none is taken, another one is tried for each failure of the first, and every 5 minutes', async (t, {store}) => {
  await append(store, ...events(1, 20));
  const {seen, mails, move, settled, progress, deliveries} = begin(t, store);
  seen.answer = () => failure(500);
  await settled();
  const atFirst = mails().length;
  await move(5000);
  t.deepEqual(mails().slice(atFirst), ['001']);
  await move(5 * minute);
  t.deepEqual(mails().slice(atFirst), ['001', '001', '002']);
  await move(4 * minute);
  t.is(mails().length, atFirst + 3);
  await move(minute);
  // Another one than before: several that cannot be taken may follow each other.
  t.deepEqual(mails().slice(atFirst), ['001', '001', '002', '003']);
  await move(25 * minute);
  t.deepEqual(mails().slice(atFirst + 4), ['001', '004']);
  t.like(await progress(), {first: {tries: 4}});

  seen.answer = () => taken;
  await move(5 * minute);
  t.deepEqual(new Set(mails()), new Set(numbers(1, 20)));
  t.like(await progress(), {first: null, failing_since: null});
  await move(5000);
  t.is(mails().at(-1), '001', 'which failed for no reason of its own');
  t.deepEqual(await deliveries(), []);
});

testSqlite('two that cannot be taken, one after the other, do not stop the others', async (t, {store}) => {
  await append(store, ...events(1, 20));
  const {seen, mails, move, settled, deliveries} = begin(t, store);
  seen.answer = mail => (['Mail1001', 'Mail1002'].includes(mail) ? failure(500) : taken);
  await settled();
  await move(5000);
  await move(5 * minute);
  await move(30 * minute);
  await move(5000);
  await move(5 * minute);

  t.deepEqual(new Set(mails()), new Set(numbers(1, 20)));
  t.is((await deliveries()).length, 2);
});

testSqlite('while two that cannot be taken wait, those that come later are tried', async (t, {store}) => {
  await append(store, event(1), event(2));
  const {seen, mails, move, settled, deliveries} = begin(t, store);
  seen.answer = mail => (['Mail1001', 'Mail1002'].includes(mail) ? failure(500) : taken);
  await settled();
  await move(5000);
  await move(5 * minute);
  t.is(mails().at(-1), '002');
  await append(store, event(3), event(4));
  await move(30 * minute);
  await move(5000);
  await move(5 * minute);

  t.true(mails().includes('003') && mails().includes('004'), mails().join());
  t.like(await deliveries(), [{tries: 5}]);
});

testSqlite('with nothing after it, the next one that comes is tried', async (t, {store}) => {
  await append(store, event(1));
  const {seen, mails, move, settled, deliveries} = begin(t, store);
  seen.answer = mail => (mail === 'Mail1001' ? failure(500) : taken);
  await settled();
  await move(5000);
  await move(5 * minute);
  t.deepEqual(mails(), ['001', '001', '001']);

  await append(store, event(2), event(3));
  await move(1000);

  t.deepEqual(mails().slice(3), ['002', '003']);
  t.is((await deliveries()).length, 1);
});

testSqlite(
  'the only one that waited through hours without an answer is sent soon after another one is taken',
  async (t, {store}) => {
    await append(store, event(1));
    const {seen, mails, move, settled, progress, deliveries} = begin(t, store);
    seen.answer = () => failure(500);
    await settled();
    await move(5000);
    await move(5 * minute);
    await move(30 * minute);
    t.like(await progress(), {first: {tries: 4}});

    seen.answer = () => taken;
    await append(store, event(2));
    await move(5 * minute);
    await move(5000);

    t.deepEqual(mails().slice(4), ['002', '001']);
    t.deepEqual(await deliveries(), []);
  },
);

testSqlite('one that is refused twice with another 4xx is given up, and the others go on', async (t, {store}) => {
  await append(store, ...events(1, 20));
  const {seen, mails, move, settled, deliveries, progress} = begin(t, store);
  seen.answer = mail => (mail === 'Mail1001' ? failure(422) : taken);
  await settled();
  await move(5000);
  await move(1000);

  t.deepEqual(mails().toSorted(), [...numbers(1, 20), '001'].toSorted());
  t.like(await deliveries(), [{is_given_up: true, tries: 2, status: 422, next_try_at: null}]);
  t.like(await progress(), {first: null, failing_since: null});
});

testSqlite('a clock that was set back delays no try, and how far it was sent is stored', async (t, {store}) => {
  await append(store, ...events(1, 20));
  const {seen, mails, move, settled, clock, progress, deliveries} = begin(t, store);
  const tries = () => mails().filter(mail => mail === '001').length;
  const before = clock.now();
  clock.set(before + 100 * hour);
  seen.answer = mail => (mail === 'Mail1001' ? failure(500) : taken);
  await settled();
  t.is(tries(), 1);

  clock.set(before);
  await move(10 * minute);
  t.is(tries(), 2);

  clock.set(before + 100 * hour);
  await move(5 * minute);
  t.like(await deliveries(), [{tries: 3, is_given_up: false}]);
  clock.set(before);
  await append(store, event(21));
  await move(1000);
  await move(1000);
  t.is((await progress())?.number, (await store.events.find({queue_id: 'Mail1021'}, {kind: 'all'}, {limit: 1}))[0]?.number);
  await move(10 * minute);
  t.is(tries(), 4);
});

testSqlite('429 is tried again after what it asks for', async (t, {store}) => {
  await append(store, event(1));
  const {seen, mails, move, settled} = begin(t, store);
  seen.answer = (_mail, count) => (count === 1 ? failure(429, {retryAfterMs: 60_000}) : taken);
  await settled();
  await move(50_000);
  t.is(mails().length, 1);
  await move(11_000);
  t.is(mails().length, 2);
});

testSqlite('410 disables the webhook at once', async (t, {store}) => {
  await append(store, ...events(1, 20));
  const {seen, runner} = begin(t, store);
  seen.answer = () => failure(410);
  while (!runner().hasEnded()) await new Promise(resolve => setTimeout(resolve, 5));
  await runner().stop();

  t.deepEqual(seen.gone, ['it answered 410 (Gone)']);
  t.true(seen.posted.length <= 8);
});

testSqlite('75 hours without a success disable the webhook', async (t, {store}) => {
  await append(store, ...events(1, 20));
  const {seen, clock, settled, runner} = begin(t, store);
  seen.answer = () => failure(500);
  const since = new Date(clock.now()).toISOString();
  for (let hours = 0; hours < 80 && !runner().hasEnded(); hours += 1) {
    await settled();
    t.deepEqual(seen.gone, []);
    clock.move(hour);
    await Promise.race([settled(), new Promise(resolve => setTimeout(resolve, 200))]);
  }
  await runner().stop();

  t.deepEqual(seen.gone, [`it has taken nothing since ${since}`]);
  t.true(clock.now() - Date.parse(since) >= 75 * hour);
});

testSqlite('where events are rare, one failure after a long time disables nothing', async (t, {store}) => {
  await append(store, event(1));
  const {seen, mails, move, settled, progress} = begin(t, store);
  seen.answer = (mail, count) => (mail === 'Mail1001' ? failure(400) : count === 1 ? failure(500) : taken);
  await settled();
  await move(5000);
  await move(100 * hour);
  await append(store, event(2));
  await move(1000);
  t.like(await progress(), {first: {tries: 1}});
  await move(5000);

  t.deepEqual(mails(), ['001', '001', '002', '002']);
  t.deepEqual(seen.gone, []);
});

testSqlite('a restart changes nothing about what failed', async (t, {store}) => {
  await append(store, ...events(1, 20));
  const {seen, mails, move, settled, restart, progress} = begin(t, store);
  seen.answer = () => failure(500);
  await settled();
  await move(5000);
  const before = await progress();
  t.like(before, {first: {tries: 2}});
  const count = mails().length;

  await restart();
  await move(4 * minute);
  t.is(mails().length, count);
  t.deepEqual(await progress(), before);
  await move(70_000);

  t.deepEqual(mails().slice(count, count + 1), ['001']);
  t.like(await progress(), {first: {tries: 3}});
});

testSqlite('nothing is lost when the store does not take what was set aside', async (t, {store}) => {
  await append(store, ...events(1, 5));
  let isFull = false;
  const {seen, move, settled, mails, deliveries, progress, restart} = begin(t, store, {
    async write(work) {
      if (isFull) throw new Error('disk full');
      await store.transaction(async tx => work(tx.webhooks));
      return true;
    },
  });
  seen.answer = mail => (mail === 'Mail1001' ? failure(422) : taken);
  await settled();
  isFull = true;
  await move(5000);
  t.deepEqual(await deliveries(), []);
  t.like(await progress(), {first: {tries: 1}});

  isFull = false;
  await move(10_000);
  t.like(await deliveries(), [{is_given_up: true}]);
  await restart();
  t.deepEqual(new Set(mails()), new Set(numbers(1, 5)));
  t.true(seen.failures.length > 0);
});

testSqlite('a log that is another node’s by now is not sent on, and nothing is stored', async (t, {store}) => {
  await append(store, ...events(1, 3));
  const {seen, runner, clock, progress} = begin(t, store, {write: async () => false});
  while (seen.posted.length < 3) await new Promise(resolve => setTimeout(resolve, 5));
  while (!runner().hasEnded()) {
    clock.move(1000);
    await new Promise(resolve => setTimeout(resolve, 5));
  }
  await append(store, event(4));
  clock.move(10_000);
  await runner().stop();

  t.is(seen.posted.length, 3);
  t.is(await progress(), undefined);
});

testStores('only the events of a webhook are sent, of its domain', async (t, {store}) => {
  await append(
    store,
    event(1),
    event(2, {event: 'held'}),
    event(3, {event: 'held', domain_id: 2, domain: 'two.test'}),
    event(4, {event: 'held'}),
  );
  const {seen, mails, settled, clock} = begin(t, store, {
    webhook: {...webhook, events: ['held', 'of a later version'], domain_id: 1},
  });
  while (seen.posted.length < 2) {
    await settled();
    clock.move(1000);
    await new Promise(resolve => setTimeout(resolve, 5));
  }
  await settled();

  t.deepEqual(mails(), ['002', '004']);
});

const forget = async (store: Store, before: number) =>
  store.transaction(async tx => tx.events.forget({before: at(before), surplus: 0, limit: 1000}));

testSqlite('entries that went before they were sent are said to be missed, and the others are sent', async (t, {store}) => {
  await append(store, ...events(1, 4));
  const {seen, mails, settled, runner, restart, progress, move} = begin(t, store);
  await settled();
  await runner().stop();
  await append(store, ...events(5, 9));
  await forget(store, 8);

  await restart();
  t.deepEqual(mails(), numbers(1, 4).concat('008', '009'));
  t.is(seen.missed, 1);
  await move(1000);
  t.truthy((await progress())?.missed_at);
  await restart();
  t.is(seen.missed, 1);
});

testSqlite('after a log was restored it goes on after what was sent', async (t, {store}) => {
  await append(store, ...events(1, 4));
  const {seen, mails, settled, runner, restart, progress, move} = begin(t, store);
  await settled();
  await runner().stop();
  await append(store, event(5));
  const [known] = await store.webhooks.progress(webhook.id);
  // As in another epoch.
  await store.transaction(async tx =>
    tx.webhooks.save({...(known ?? t.fail()), place: 'x'.repeat(59)} as NonNullable<typeof known>),
  );

  await restart();
  await move(1000);

  t.deepEqual(mails(), numbers(1, 5));
  t.is(seen.missed, 0);
  t.is((await progress())?.missed_at, null);
});

/** Numbers are when an entry was written. */
const written = async (store: Store, mail: string): Promise<string> => {
  const [entry] = await store.events.find({queue_id: mail}, {kind: 'all'}, {limit: 1});
  return new Date((entry?.number ?? 0) / 1000).toISOString();
};

testSqlite('a replay sends again what was logged since, with the ids that it had', async (t, {store}) => {
  await append(store, event(1));
  await new Promise(resolve => setTimeout(resolve, 5));
  await append(store, ...events(2, 3));
  const {seen, mails, settled, restart, progress, deliveries, move} = begin(t, store);
  seen.answer = mail => (mail === 'Mail1003' ? failure(404) : taken);
  await settled();
  await move(5000);
  t.is((await deliveries()).length, 1);
  const ids = new Map(seen.posted.map(({mail, id}) => [mail, id]));
  seen.answer = () => taken;
  seen.posted = [];
  const replay = {at: at(100), since: await written(store, 'Mail1002'), is_fresh_start: false};

  await restart({webhook: {...webhook, replay}});
  t.deepEqual(mails(), ['002', '003']);
  t.true(seen.posted.every(({mail, id}) => ids.get(mail) === id));
  t.deepEqual(await deliveries(), []);
  t.is((await progress())?.replayed_at, replay.at);
  await restart({webhook: {...webhook, replay}});

  t.is(mails().length, 2, 'it is done once');
});

testSqlite(
  'a replay of a disabled webhook leaves out what was not sent before; of another one nothing is left out',
  async (t, {store}) => {
    await append(store, ...events(1, 20));
    const {seen, mails, settled, restart, deliveries, move} = begin(t, store);
    seen.answer = mail => (mail === 'Mail1001' ? failure(500) : taken);
    await settled();
    await move(5000);
    await move(5 * minute);
    t.is((await deliveries()).length, 1);
    seen.answer = () => failure(500);
    await append(store, ...events(24, 26));
    await move(1000);
    seen.answer = () => taken;
    seen.posted = [];
    await new Promise(resolve => setTimeout(resolve, 5));
    const since = new Date().toISOString();
    await append(store, event(27));

    await restart({webhook: {...webhook, replay: {at: at(100), since, is_fresh_start: false}}});
    t.deepEqual(mails(), ['024', '025', '026', '027']);
    t.is((await deliveries()).length, 1);
    seen.posted = [];
    await restart({webhook: {...webhook, replay: {at: at(101), since, is_fresh_start: true}}});

    t.deepEqual(mails(), ['027']);
    t.deepEqual(await deliveries(), []);
  },
);

testSqlite('what was set aside goes when its entry has left the log', async (t, {store}) => {
  await append(store, ...events(1, 20));
  const {seen, mails, settled, deliveries, move} = begin(t, store);
  seen.answer = mail => (mail === 'Mail1001' ? failure(500) : mail === 'Mail1002' ? failure(404) : taken);
  await settled();
  await move(5000);
  await move(5 * minute);
  await move(30 * minute);
  await move(5000);
  t.deepEqual((await deliveries()).map(({is_given_up}) => is_given_up).toSorted(), [false, true]);
  const count = mails().length;

  await forget(store, 30);
  await move(6 * hour);

  t.deepEqual(await deliveries(), []);
  t.is(mails().length, count);
});

testSqlite('what is set aside keeps why it was not taken, also where an earlier one was taken meanwhile', async (t, {store}) => {
  await append(store, event(1));
  const {seen, mails, settled, deliveries, move} = begin(t, store);
  seen.answer = mail => (mail === 'Mail1001' ? failure(503) : taken);
  await settled();
  await append(store, event(2));
  await move(5000);
  await move(5 * minute);
  t.like(await deliveries(), [{status: 503}]);
  seen.answer = mail => (mail === 'Mail1003' ? failure(500) : taken);
  await append(store, event(3));
  await move(1000);
  await move(5000);
  await move(5 * minute);

  await move(26 * minute);
  t.is(mails().at(-1), '001');
  await append(store, event(4));
  await move(1000);

  t.like(await deliveries(), [{status: 500, error: 'it answered 500', tries: 3}]);
});

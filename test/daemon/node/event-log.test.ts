import test, {type ExecutionContext} from 'ava';
import type {Base} from '../../../daemon/node/base.ts';
import {openEventLog} from '../../../daemon/node/event-log.ts';
import {unknownMail} from '../../../daemon/services/events/held-event.ts';
import {damageTable} from '../../helpers/damaged-table.ts';
import {openTestStore, type TestStore, testStore} from '../../helpers/store.ts';
import {storedMail} from '../../helpers/stored-mail.ts';

const all = {kind: 'all'} as const;
const dayMs = 86_400_000;
const start = Date.UTC(2026, 2, 1);

const openLog = (store: TestStore, {keep_days = 30, max_rows = 1_000_000} = {}) => {
  const test = {now: start, leftOut: 0, refusalsLeftOut: 0, surplus: 0, said: [] as string[]};
  const {jobs, record, recordRefusal, leaveOutRefusal, close, reportLost} = openEventLog({
    storage: {store, engine: {kind: 'own'}} as unknown as Base['storage'],
    settings: () => ({events: {keep_days, max_rows, subjects: 'keep'}}) as ReturnType<Base['settings']>,
    metrics: {
      eventsLeftOut: (why: string, count = 1) => {
        if (why === 'refusals') test.refusalsLeftOut += count;
        else test.leftOut += count;
      },
      eventsSurplus: (count: number) => {
        test.surplus += count;
      },
    } as unknown as Base['metrics'],
    log: {error: (_fields: object, text: string) => void test.said.push(text)} as unknown as Base['log'],
    now: () => test.now,
  });
  const run = async (what: RegExp): Promise<void> => {
    for (const job of jobs.filter(one => what.test(one.what))) await job.run();
  };
  return {
    test,
    record,
    recordRefusal,
    leaveOutRefusal,
    async close(withinMs?: number) {
      await close(withinMs);
      reportLost();
    },
    write: async () => run(/^writing/),
    sweep: async () => run(/^removing/),
    merge: async () => run(/^merging/),
  };
};

const hold = async (store: TestStore, queueId: string) =>
  store.transaction(async tx =>
    tx.hold.insert([storedMail({queue_id: queueId, subject: '', score: 7, arrived_at: new Date(start).toISOString()})]),
  );

const damagedLog = async (t: ExecutionContext): Promise<TestStore> => {
  const {store: before, filename} = await testStore(t);
  await hold(before, 'Mail000000');
  await before.close();
  await damageTable(filename, 'mail_event');
  const store = await openTestStore(filename);
  t.teardown(store.close);
  return store;
};

test('where the log is damaged each change without its entry counts, and one line an hour says so', async t => {
  const store = await damagedLog(t);
  const log = openLog(store);

  for (const id of ['Mail000001', 'Mail000002']) await hold(store, id);
  log.record({...unknownMail, event: 'relayed', at: new Date(start).toISOString()});
  await log.write();
  await log.merge();
  log.test.now += 3_600_000;
  await hold(store, 'Mail000003');

  t.is(log.test.leftOut, 3);
  t.deepEqual(log.test.said, Array(2).fill('entries of the event log could not be written; mail goes on without them'));
});

test('of a flood of refusals a few become entries, and the others are counted', async t => {
  const {store} = await testStore(t, {isDurable: false});
  const log = openLog(store);

  for (let n = 0; n < 100; n += 1)
    log.recordRefusal('192.0.2.1', () => ({...unknownMail, event: 'refused', at: new Date(start).toISOString()}));
  log.leaveOutRefusal();
  await log.write();

  t.is(await store.events.count(), 25);
  t.is(log.test.refusalsLeftOut, 76);
});

test('what cannot be written before a stop is counted, and a line says so', async t => {
  const store = await damagedLog(t);
  const log = openLog(store);
  for (let n = 0; n < 3; n += 1) log.record({...unknownMail, event: 'relayed', at: new Date(start).toISOString()});

  await log.close(100);

  t.is(log.test.leftOut, 3);
  t.deepEqual(log.test.said, ['entries of the event log could not be written before the stop']);
});

test('what waits is written before a stop, and no line says otherwise', async t => {
  const {store} = await testStore(t, {isDurable: false});
  const log = openLog(store);
  log.record({...unknownMail, event: 'relayed', at: new Date(start).toISOString()});

  await log.close();

  t.is(await store.events.count(), 1);
  t.deepEqual([log.test.leftOut, log.test.said.length], [0, 0]);
});

const fill = async (store: TestStore, count: number, daysAgo: (n: number) => number) => {
  const events = Array.from({length: count}, (_, n) => ({
    ...unknownMail,
    event: 'relayed' as const,
    at: new Date(start - daysAgo(n) * dayMs).toISOString(),
    queue_id: `Mail${n}`,
  }));
  await store.transaction(async tx => tx.events.append(events));
};

const left = async (store: TestStore) => (await store.events.find({}, all, {limit: 1000})).map(({queue_id}) => queue_id);

test('entries go when they are older than events.keep_days, in as many steps as it takes', async t => {
  const {store} = await testStore(t, {isDurable: false});
  await fill(store, 1003, n => (n < 1000 ? 30.01 : 29.99));
  const log = openLog(store);

  await log.sweep();

  t.deepEqual(await left(store), ['Mail1002', 'Mail1001', 'Mail1000']);
  t.is(log.test.surplus, 0);
});

test('the oldest entries go when there are more than events.max_rows, and these are counted', async t => {
  const {store} = await testStore(t, {isDurable: false});
  await fill(store, 1003, n => (n < 10 ? 31 : 1));
  const log = openLog(store, {max_rows: 2});

  await log.sweep();
  await log.sweep();

  t.deepEqual(await left(store), ['Mail1002', 'Mail1001']);
  t.is(log.test.surplus, 1001);
});

/** Of the index of words. Each transaction that writes entries makes a segment. */
const segmentsOf = async (store: TestStore): Promise<number> => {
  const [row] = await store.read.raw<{count: number}[]>('SELECT count(DISTINCT segid) AS count FROM mail_event_word_idx');
  return row?.count ?? 0;
};

test('segments of the index are merged by a job of their own, not by the changes of mail that make them', async t => {
  const {store} = await testStore(t, {isDurable: false});
  const log = openLog(store);
  // Each has enough words for a merge by FTS5 itself.
  for (let n = 0; n < 15; n += 1) {
    const recipients = Array.from({length: 5000}, (_, m) => `user${m}@d${n}.test`);
    await store.transaction(async tx =>
      tx.events.append([{...unknownMail, event: 'relayed', at: new Date(start).toISOString(), recipients}]),
    );
  }
  const before = await segmentsOf(store);

  await log.merge();

  t.is(before, 15);
  t.true((await segmentsOf(store)) < 4);
  t.is((await store.events.find({event: ['relayed']}, all, {limit: 100})).length, 15);
  t.is((await store.events.find({recipient: 'user4999@d7.test'}, all, {limit: 100})).length, 1);
});

test('what is gone from the log is gone from its index as well', async t => {
  const {store} = await testStore(t, {isDurable: false});
  await fill(store, 3000, () => 31);
  await fill(store, 10, () => 1);
  const bytes = async () => {
    const [row] = await store.read.raw<{bytes: number}[]>('SELECT sum(length(block)) AS bytes FROM mail_event_word_data');
    return row?.bytes ?? 0;
  };
  const before = await bytes();

  const log = openLog(store);
  await log.sweep();
  await log.merge();

  t.true((await bytes()) < before / 10, `${before} ${await bytes()}`);
  t.is((await left(store)).length, 10);
});

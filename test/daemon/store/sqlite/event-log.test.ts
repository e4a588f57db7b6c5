import {join} from 'node:path';
import test from 'ava';
import {unknownMail} from '../../../../daemon/services/events/held-event.ts';
import {damageTable} from '../../../helpers/damaged-table.ts';
import {mayMount, smallDisk} from '../../../helpers/small-disk.ts';
import {openTestStore, type TestStore, testStore} from '../../../helpers/store.ts';
import {storedMail} from '../../../helpers/stored-mail.ts';

const all = {kind: 'all'} as const;
const arrivedAt = '2026-03-01T00:00:00.000Z';
const ending = {state: 'discarded', at: '2026-03-02T00:00:00.000Z', keyId: 1} as const;
// An entry about it takes several pages.
const recipients = Array.from({length: 100}, (_, n) => `${String(n).padEnd(240, 'x')}@one.test`);
const mail = (queueId: string) => storedMail({queue_id: queueId, subject: '', score: 7, arrived_at: arrivedAt, recipients});

const hold = async (store: TestStore, queueId: string) => store.transaction(async tx => tx.hold.insert([mail(queueId)]));
const discard = async (store: TestStore, queueId: string) =>
  store.transaction(async tx => tx.hold.end([queueId], 'held', ending));

const follow = (store: TestStore) => {
  const leftOut: number[] = [];
  store.configureEvents({keepsSubjects: () => true, onLeftOut: count => leftOut.push(count)});
  return leftOut;
};

const eventsIn = async (store: TestStore) => (await store.events.find({}, all, {limit: 100})).map(({event}) => event);

const pragma = async (store: TestStore, name: string): Promise<number> => {
  const [row] = await store.write.raw<Record<string, number>[]>(`PRAGMA ${name}`);
  return Object.values(row ?? {})[0] ?? 0;
};

test('a mail for which there is space, but not for its entry, is held without it, and the entry is counted', async t => {
  const {store} = await testStore(t);
  const leftOut = follow(store);
  await hold(store, 'Mail000001');
  const pages = await pragma(store, 'page_count');

  let refused = 0;
  for (let isHeld = false; !isHeld; ) {
    await store.write.raw(`PRAGMA max_page_count = ${pages + refused}`);
    isHeld = await hold(store, 'Mail000002').then(
      () => true,
      () => false,
    );
    refused += isHeld ? 0 : 1;
  }
  const withoutMail = await t.throwsAsync(
    store.transaction(async tx =>
      tx.events.append([{...unknownMail, event: 'relayed', at: arrivedAt, detail: 'x'.repeat(50_000)}]),
    ),
  );
  await store.write.raw('PRAGMA max_page_count = 1000000');
  await discard(store, 'Mail000002');

  t.true(refused > 0);
  t.deepEqual(leftOut, [1]);
  t.like(withoutMail, {code: 'SQLITE_FULL'});
  t.deepEqual(await eventsIn(store), ['discarded', 'held']);
  t.is((await store.hold.counts())[0]?.count, 1);
});

test('a transaction that fails for another reason, or without an entry about held mail, is not repeated', async t => {
  const {store} = await testStore(t);
  const leftOut = follow(store);
  let runs = 0;
  const failing = async (code: string, ids: string[]) =>
    t.throwsAsync(
      store.transaction(async tx => {
        runs += 1;
        await tx.hold.insert(ids.map(mail));
        throw Object.assign(new Error('of a test'), {code});
      }),
    );

  await failing('SQLITE_FULL', []);
  await failing('SQLITE_CONSTRAINT', ['Mail000001']);
  const runsBefore = runs;
  await failing('SQLITE_FULL', ['Mail000001']);

  t.is(runsBefore, 2);
  t.is(runs, 4);
  t.deepEqual(leftOut, []);
  t.is(await store.hold.find('Mail000001'), undefined);
});

for (const table of ['mail_event', 'mail_event_word_data'] as const)
  test(`with ${table} damaged mail is held and discarded, and the database does not count as damaged`, async t => {
    const {store: before, filename} = await testStore(t);
    await hold(before, 'Mail000001');
    await before.close();
    await damageTable(filename, table);
    const store = await openTestStore(filename);
    t.teardown(store.close);
    const leftOut = follow(store);

    await hold(store, 'Mail000002');
    await discard(store, 'Mail000001');
    const search = await t.throwsAsync(store.events.find({queue_id: 'Mail000001'}, all, {limit: 10}));

    t.deepEqual(leftOut, [1, 1]);
    t.is((await store.hold.find('Mail000001'))?.state, 'discarded');
    t.is((await store.hold.find('Mail000002'))?.state, 'held');
    t.is(store.damage(), undefined);
    t.like(search, {code: 'unavailable'});
    t.regex(search?.message ?? '', /mfd repair/);
  });

(mayMount ? test : test.skip)(
  'old entries go on a full disk too, and give their space to mail (needs the right to mount a tmpfs)',
  async t => {
    const disk = await smallDisk(t, 32 * 1024 * 1024);
    const store = await openTestStore(join(disk.path, 'mfd.db'));
    t.teardown(store.close);
    const entry = {...unknownMail, event: 'relayed', at: arrivedAt, recipients} as const;
    for (let n = 0; n < 20; n += 1) await store.transaction(async tx => tx.events.append(Array(10).fill(entry)));
    await store.write.raw('PRAGMA wal_checkpoint(RESTART)');
    await disk.fill();

    for (let gone = 20; gone > 0; )
      gone = await store.transaction(async tx => tx.events.forget({before: ending.at, surplus: 0, limit: 20}));
    await store.write.raw('PRAGMA wal_checkpoint(RESTART)');
    await hold(store, 'Mail000001');

    t.is((await store.hold.find('Mail000001'))?.state, 'held');
    t.deepEqual(await eventsIn(store), ['held']);
  },
);

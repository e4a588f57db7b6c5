import test from 'ava';
import fc from 'fast-check';
import type {HeldCount, NewHeldMail} from '../../../../daemon/services/quarantine/stored-mail.ts';
import {readCounts} from '../../../../daemon/store/sql/held-mail.ts';
import {createHeldQuery} from '../../../../daemon/store/sqlite/held-query.ts';
import {reasons} from '../../../../shared/reason.ts';
import {type TestStore, testStore} from '../../../helpers/store.ts';
import {releasedFor, storedMail} from '../../../helpers/stored-mail.ts';

const all = {kind: 'all'} as const;

const mail = (n: number): NewHeldMail =>
  storedMail({
    queue_id: `Mail${String(n).padStart(6, '0')}`,
    domain: n % 3 === 0 ? 'one.test' : 'two.test',
    // Two domains with the same name: the second was created after the first had been deleted.
    domain_id: n % 3,
    sender: `sender${n % 2}@example.net`,
    recipients: ['a@one.test', 'b@one.test'],
    subject: `mail ${n}`,
    score: n,
    reason: reasons[n % reasons.length] ?? 'spam',
    size_bytes: 100 + n,
    arrived_at: new Date(1_767_225_600_000 + n).toISOString(),
  });

type Step = {n: number; what: 'hold' | 'claim' | 'unclaim' | 'end held' | 'end releasing' | 'strike'};

const steps = fc.array(
  fc.record<Step>({
    n: fc.nat(9),
    what: fc.constantFrom('hold', 'hold', 'claim', 'unclaim', 'end held', 'end releasing', 'strike'),
  }),
  {maxLength: 25},
);

const take = async (store: TestStore, {n, what}: Step, isRolledBack: boolean): Promise<void> => {
  const {queue_id} = mail(n);
  const ending = {state: 'released', at: '2026-03-01T00:00:00.000Z', keyId: null} as const;
  const work = store.transaction(async tx => {
    if (what === 'hold') await tx.hold.insert([mail(n)]);
    else if (what === 'claim') await tx.hold.claim([queue_id], {state: 'releasing', keyId: 7});
    else if (what === 'unclaim') await tx.hold.unclaim([queue_id]);
    else if (what === 'strike') await tx.hold.strikeRecipients(queue_id, releasedFor('a@one.test'));
    else await tx.hold.end([queue_id], what === 'end held' ? 'held' : 'releasing', ending);
    if (isRolledBack) throw new Error('rolled back');
  });
  await work.catch(error => {
    if (error.message !== 'rolled back') throw error;
  });
};

const counted = async ({write}: TestStore): Promise<HeldCount[]> =>
  (
    await write('held_mail')
      .whereRaw('is_held')
      .groupBy('domain_id', 'domain', 'reason')
      .select('domain_id', 'domain', 'reason')
      .count({count: '*'})
      .sum({size_bytes: 'size_bytes'})
      .orderBy(['domain', 'reason', 'domain_id'])
  ).map(row => row as unknown as HeldCount);

test('the running totals equal a count of the mails after any actions, rolled back or not', async t => {
  const {store} = await testStore(t, {isDurable: false});

  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(steps, fc.boolean()), {maxLength: 3}), async rounds => {
      for (const table of ['held_mail', 'held_count']) await store.write(table).delete();
      for (const [round, isRolledBack] of rounds) for (const step of round) await take(store, step, isRolledBack);

      t.deepEqual(await readCounts(store.write), await counted(store));
      t.is((await store.write('held_count').where('count', '<', 0)).length, 0);
      const totals = await createHeldQuery(store.read, 'alpha').groups({}, all);
      const {total} = await createHeldQuery(store.read, 'alpha').list({}, all, {limit: 1, offset: 0});
      t.is(
        total,
        totals.reduce((sum, {count}) => sum + count, 0),
      );
    }),
    {numRuns: 60},
  );
});

test('a total that the counts answer equals one that looks at the mails, for every filter and reach', async t => {
  const {store} = await testStore(t, {isDurable: false});
  await store.transaction(async tx => tx.hold.insert(Array.from({length: 60}, (_, n) => mail(n))));
  const everyone = {subject: 'mail'};

  for (const reach of [all, {kind: 'domain', domainId: 1}, {kind: 'none'}] as const)
    for (const filter of [{}, {domain: 'one.test'}, {reason: 'rbl'}, {domain: 'two.test', reason: 'spam'}] as const) {
      const fast = await createHeldQuery(store.read, 'alpha').list(filter, reach, {limit: 100, offset: 0});
      const slow = await createHeldQuery(store.read, 'alpha').list({...filter, ...everyone}, reach, {limit: 100, offset: 0});
      t.deepEqual(fast, slow);
      t.is(fast.total, fast.mails.length);
    }
});

test('a mail that is indexed twice counts once', async t => {
  const {store} = await testStore(t);

  await store.transaction(async tx => tx.hold.insert([mail(1), mail(1)]));
  await store.transaction(async tx => tx.hold.insert([mail(1)]));

  t.like((await readCounts(store.write))[0], {count: 1, size_bytes: 101});
});

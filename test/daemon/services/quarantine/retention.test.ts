import test, {type ExecutionContext} from 'ava';
import {createRetention} from '../../../../daemon/services/quarantine/retention.ts';
import type {Domain} from '../../../../shared/domain.ts';
import type {Reason} from '../../../../shared/reason.ts';
import {type DomainRetention, storedRetention} from '../../../../shared/retention.ts';
import {operator, testQueue} from '../../../helpers/hold-queue.ts';
import {spoolNames} from '../../../helpers/spool-names.ts';

const dayMs = 24 * 3600 * 1000;
const arrived = Date.parse('2026-01-01T00:00:00.000Z');

const arrange = async (t: ExecutionContext, keepDays: Partial<Record<Reason, number>> = {}) => {
  const test = await testQueue(t, {isDurable: false});
  test.now = arrived;
  const retentionMs = (): Record<Reason, number> => ({
    spam: (keepDays.spam ?? 30) * dayMs,
    phishing: (keepDays.phishing ?? 30) * dayMs,
    sandbox: (keepDays.sandbox ?? 30) * dayMs,
    rbl: (keepDays.rbl ?? 30) * dayMs,
  });
  // The domain of a mail that says nothing else.
  const domains: Domain[] = [{id: 1, name: 'example.com'} as Domain];
  const needs = {
    ...{store: test.store, retentionMs, expire: test.queue.expire, now: () => test.now},
    domains: {
      findById: (wanted: number) => domains.find(({id}) => id === wanted),
      findByName: (wanted: string) => domains.find(({name}) => name === wanted),
    },
  };
  return Object.assign(test, {
    needs,
    setRetention: (id: number, name: string, retention?: DomainRetention) =>
      void domains.unshift({id, name, retention} as Domain),
    /** The store has a tombstone of it. */
    deleteDomain: async (id: number) =>
      test.store.transaction(async tx =>
        tx.records.save([
          {kind: 'domain', id, fields: {}, deleted: '0'.repeat(20), unique_key: null, parent_id: null, digest: ''},
        ]),
      ),
    retention: createRetention(needs),
    stateOf: async (queueId: string) => (await test.store.hold.find(queueId))?.state,
  });
};

test('a mail is held for as long as is set, to the millisecond, and no longer than the next sweep', async t => {
  const test = await arrange(t);
  await test.hold('Mail000001');

  test.now = arrived + 30 * dayMs;
  const atTheLimit = await test.retention.sweep();
  test.now += 1;
  const after = await test.retention.sweep();

  t.is(atTheLimit, 0);
  t.is(after, 1);
  t.is(await test.stateOf('Mail000001'), 'expired');
  t.deepEqual(await spoolNames(test.spool), []);
});

test('what others put on hold in Postfix is not removed, and keeps nothing else from being so', async t => {
  const test = await arrange(t);
  await test.hold('Foreign0000');
  const {store} = test;
  await store.write('held_mail').update({keeper: 'postfix', symbols: JSON.stringify([{name: 'POSTFIX_HOLD', score: 0}])});
  const {rowid: _, ...row} = {rowid: 0, ...(await store.read('held_mail').first())};
  for (let n = 1; n <= 500; n += 1) await store.write('held_mail').insert({...row, queue_id: `Foreign${1000 + n}`});
  await test.hold('Mail000001', {arrivedAt: arrived + 1});
  test.now = arrived + 100 * dayMs;

  const expired = await test.retention.sweep();

  t.is(expired, 1);
  t.is(await test.stateOf('Foreign0000'), 'held');
  t.is(await test.stateOf('Mail000001'), 'expired');
});

test('while nobody can see what is held nothing is removed', async t => {
  const test = await arrange(t);
  await test.hold('Mail000001');
  test.now = arrived + 100 * dayMs;

  const expired = await createRetention({...test.needs, isSuspended: () => true}).sweep();

  t.is(expired, 0);
  t.deepEqual(await spoolNames(test.spool), ['Mail000001']);
});

test('each reason has its own time', async t => {
  const test = await arrange(t, {spam: 1, phishing: 60, sandbox: 0.5, rbl: 2});
  for (const reason of ['spam', 'phishing', 'sandbox', 'rbl'] as const) await test.hold(`${reason}0000`, {reason});

  test.now = arrived + 1.5 * dayMs;
  const expired = await test.retention.sweep();

  t.is(expired, 2);
  t.deepEqual(await spoolNames(test.spool), ['phishing0000', 'rbl0000']);
});

const none: DomainRetention = {days: null, by_reason: {}};

test('mail of a domain is held for as long as the domain says, shorter or longer, and all other mail as the node says', async t => {
  const test = await arrange(t, {phishing: 60});
  const hold = async (queueId: string, domainId: number, reason: Reason) =>
    test.hold(queueId, {domainId, domain: `d${domainId}.test`, reason});
  test.setRetention(2, 'd2.test', {days: 14, by_reason: {}});
  test.setRetention(3, 'd3.test', {days: 90, by_reason: {spam: 7}});
  test.setRetention(4, 'd4.test', {days: null, by_reason: {spam: 45}});
  for (const domainId of [1, 2, 3, 4])
    for (const reason of ['spam', 'phishing'] as const) await hold(`Mail${domainId}${reason}`, domainId, reason);
  const left = async (days: number): Promise<string[]> => {
    test.now = arrived + days * dayMs;
    await test.retention.sweep();
    test.now += 1;
    await test.retention.sweep();
    return spoolNames(test.spool);
  };

  t.deepEqual(await left(7), without('Mail3spam'));
  // Its own days count before the reasons of the node.
  t.deepEqual(await left(14), without('Mail3spam', 'Mail2spam', 'Mail2phishing'));
  t.deepEqual(await left(30), ['Mail1phishing', 'Mail3phishing', 'Mail4phishing', 'Mail4spam']);
  t.deepEqual(await left(45), ['Mail1phishing', 'Mail3phishing', 'Mail4phishing']);
  t.deepEqual(await left(60), ['Mail3phishing']);
  t.deepEqual(await left(90), []);
});

const without = (...gone: string[]): string[] =>
  [1, 2, 3, 4].flatMap(n => [`Mail${n}phishing`, `Mail${n}spam`]).filter(name => !gone.includes(name));

test('mail of a domain whose retention cannot be read does not expire', async t => {
  const test = await arrange(t);
  await test.hold('Mail000001');
  await test.hold('Mail000002', {domainId: 2, domain: 'd2.test'});
  test.setRetention(2, 'd2.test', storedRetention({days: 'a week'}));

  test.now = arrived + 20_000 * dayMs;

  t.is(await test.retention.sweep(), 1);
  t.deepEqual(await spoolNames(test.spool), ['Mail000002']);
});

test('mail of a domain that was deleted is held as the node says, and as its domain says once that is there again', async t => {
  const test = await arrange(t);
  await test.hold('Mail000001', {domainId: 5, domain: 'gone.test'});
  await test.hold('Mail000002', {domainId: 6, domain: 'again.test'});
  await test.deleteDomain(5);
  await test.deleteDomain(6);
  test.setRetention(7, 'again.test', {...none, days: 60});

  test.now = arrived + 31 * dayMs;

  t.is(await test.retention.sweep(), 1);
  t.deepEqual(await spoolNames(test.spool), ['Mail000002']);
});

test('mail of a domain whose record is missing stays until the record is back, or the domain is deleted', async t => {
  const test = await arrange(t);
  await test.hold('Mail000001', {domainId: 5, domain: 'lost.test'});
  await test.hold('Mail000002', {domainId: 6, domain: 'lost.test'});
  test.now = arrived + 31 * dayMs;

  const missing = await test.retention.sweep();
  await test.deleteDomain(6);
  const deleted = await test.retention.sweep();
  test.setRetention(5, 'lost.test', {...none, days: 31});
  const back = await test.retention.sweep();
  test.now += 1;

  t.deepEqual([missing, deleted, back], [0, 1, 0]);
  t.is(await test.retention.sweep(), 1);
});

test('mail of a domain that was deleted does not end sooner because a domain of its name says so', async t => {
  const test = await arrange(t);
  await test.hold('Mail000001', {domainId: 6, domain: 'again.test'});
  await test.deleteDomain(6);
  test.setRetention(7, 'again.test', {...none, days: 1});

  test.now = arrived + 30 * dayMs;
  const before = await test.retention.sweep();
  test.now += 1;

  t.is(before, 0);
  t.is(await test.retention.sweep(), 1);
});

test('a node that may have missed a longer retention leaves out six sweeps, and no more', async t => {
  const test = await arrange(t);
  let isUpToDate = false;
  const retention = createRetention({...test.needs, isUpToDate: () => isUpToDate});
  const sweeps = async (count: number): Promise<number[]> => {
    const expired: number[] = [];
    for (let n = 0; n < count; n += 1) expired.push(await retention.sweep());
    return expired;
  };
  await test.hold('Mail000001');
  test.now = arrived + 31 * dayMs;

  const first = await sweeps(7);
  await test.hold('Mail000002', {arrivedAt: arrived});
  test.now += 31 * dayMs;
  const second = await sweeps(3);
  isUpToDate = true;

  t.deepEqual(first, [0, 0, 0, 0, 0, 0, 1]);
  t.deepEqual(second, [0, 0, 0]);
  t.deepEqual(await sweeps(1), [1]);
});

/** Rows of `count` mails of a domain. */
const holdMany = async (test: Awaited<ReturnType<typeof arrange>>, count: number, domainId: number): Promise<void> => {
  await test.hold(`Template0${domainId}`, {domainId, domain: `d${domainId}.test`});
  const template = await test.store.hold.find(`Template0${domainId}`);
  if (!template) throw new Error('no template');
  const {state, acted_at, acted_by_key_id, ...mail} = template;
  const many = Array.from({length: count - 1}, (_, n) => ({...mail, queue_id: `Many${domainId}${String(n).padStart(6, '0')}`}));
  await test.store.transaction(async tx => tx.hold.insert(many));
};

test('a retention that is made longer during a sweep keeps what the sweep has not reached', async t => {
  const test = await arrange(t);
  await holdMany(test, 1200, 2);
  test.setRetention(2, 'd2.test', {...none, days: 1});
  test.now = arrived + 2 * dayMs;

  const expired = await createRetention({
    ...test.needs,
    async expire(queueId) {
      test.setRetention(2, 'd2.test', {...none, days: 10});
      return test.queue.expire(queueId);
    },
  }).sweep();

  t.is(expired, 500);
  t.is((await test.store.hold.counts())[0]?.count, 700);
});

test('however many mails of a domain cannot be removed, those of the others are', async t => {
  const test = await arrange(t);
  for (const id of [2, 3]) test.setRetention(id, `d${id}.test`);
  await holdMany(test, 2600, 2);
  await holdMany(test, 3, 3);
  const tried = new Set<string>();
  const retention = createRetention({
    ...test.needs,
    expire: async queueId => {
      if (tried.has(queueId)) throw new Error('tried twice');
      tried.add(queueId);
      if ((await test.store.hold.find(queueId))?.domain_id === 2) throw new Error('the disk says no');
      return test.queue.expire(queueId);
    },
  });

  test.now = arrived + 31 * dayMs;
  await t.throwsAsync(retention.sweep(), {message: 'the disk says no'});

  t.deepEqual(
    (await test.store.hold.counts()).map(({domain_id, count}) => [domain_id, count]),
    [[2, 2600]],
  );
});

test('mail on which others act is no failure, however much of it there is', async t => {
  const test = await arrange(t);
  test.setRetention(2, 'd2.test');
  await holdMany(test, 2600, 2);
  const tried: string[] = [];
  const retention = createRetention({
    ...test.needs,
    async expire(queueId) {
      tried.push(queueId);
      return false;
    },
  });

  test.now = arrived + 31 * dayMs;

  t.is(await retention.sweep(), 0);
  t.deepEqual([tried.length, new Set(tried).size], [2600, 2600]);
});

test('a changed time counts at the next sweep', async t => {
  const test = await arrange(t);
  await test.hold('Mail000001');
  test.now = arrived + 10 * dayMs;
  const before = await test.retention.sweep();

  const shorter = createRetention({
    ...test.needs,
    retentionMs: () => ({spam: dayMs, phishing: dayMs, sandbox: dayMs, rbl: dayMs}),
  });

  t.is(before, 0);
  t.is(await shorter.sweep(), 1);
});

test('a wall clock that is set back expires nothing', async t => {
  const test = await arrange(t);
  await test.hold('Mail000001');

  test.now = arrived - 400 * dayMs;

  t.is(await test.retention.sweep(), 0);
});

test('what became of a mail is remembered for 90 days and then forgotten, recipients and all', async t => {
  const test = await arrange(t);
  await test.hold('Released01');
  await test.hold('Expired001');
  await test.hold('StillHeld1', {arrivedAt: arrived + 119 * dayMs});
  await test.queue.act('release', 'Released01', operator);
  test.now = arrived + 31 * dayMs;
  await test.retention.sweep();

  test.now = arrived + 90 * dayMs;
  await test.retention.sweep();
  const at90 = [await test.stateOf('Released01'), await test.stateOf('Expired001')];
  test.now += 1;
  await test.retention.sweep();
  const after90 = [await test.stateOf('Released01'), await test.stateOf('Expired001')];
  test.now = arrived + 122 * dayMs;
  await test.retention.sweep();

  t.deepEqual(at90, ['released', 'expired']);
  t.deepEqual(after90, [undefined, 'expired']);
  t.is(await test.stateOf('Expired001'), undefined);
  t.is(await test.stateOf('StillHeld1'), 'held');
  t.deepEqual(await test.store.read('held_recipient').pluck('queue_id'), ['StillHeld1']);
});

test('thousands are swept in one go, and the totals are right afterwards', async t => {
  const test = await arrange(t);
  await holdMany(test, 1201, 1);

  test.now = arrived + 31 * dayMs;
  const expired = await test.retention.sweep();
  test.now += 91 * dayMs;
  await test.retention.sweep();

  t.is(expired, 1201);
  t.is((await test.store.read('held_count').where('count', '<>', 0)).length, 0);
  t.is((await test.store.read('held_mail')).length, 0);
});

test('one mail that cannot be removed does not keep the others', async t => {
  const test = await arrange(t);
  for (let n = 0; n < 3; n += 1) await test.hold(`Mail00000${n}`, {arrivedAt: arrived + n});
  const retention = createRetention({
    ...test.needs,
    expire: async queueId => {
      if (queueId === 'Mail000000') throw new Error('the disk says no');
      return test.queue.expire(queueId);
    },
  });

  test.now = arrived + 31 * dayMs;
  await t.throwsAsync(retention.sweep(), {message: 'the disk says no'});

  t.deepEqual(await spoolNames(test.spool), ['Mail000000']);
});

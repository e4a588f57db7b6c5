import test, {type ExecutionContext} from 'ava';
import type {Store} from '../../../../daemon/services/ports.ts';
import {policyOf} from '../../../helpers/dmarc.ts';
import {mailsIn, startDmarcCluster} from '../../../helpers/dmarc-cluster.ts';
import {testStores} from '../../../helpers/store-makes.ts';

test('each node sends one report of what it counted itself', async t => {
  const {count, settle, sent, reported} = await startDmarcCluster(t);
  await count(1, 2);
  await count(2, 3);
  await count(3, 5);
  await count(3, 1, {domain: 'other.example'});

  await settle();
  await settle();

  t.deepEqual(
    sent.map(({by, xml}) => [by, mailsIn(xml)]),
    [
      [1, 2],
      [2, 3],
      [3, 6],
    ],
  );
  for (const {id} of sent) t.regex(id, /^2026-03-01\.bank\.test\.[0-9a-f]{8}@example\.com$/);
  t.is(new Set(sent.map(({id}) => id)).size, 3);
  t.is([...(sent[2]?.xml ?? '').matchAll(/<record>/g)].length, 1, 'domains that receive are no part of it');
  t.is(reported(), 11);
});

testStores('nodes of one store send one report of what all of them counted, however many make it at once', async (t, {store}) => {
  const {count, run, sent, clock} = await startDmarcCluster(t, {common: store});
  await count(1, 2);
  await count(2, 3);
  await count(3, 5);

  await Promise.all([1, 2, 3].map(run));
  clock.ms += 60_000;
  await Promise.all([1, 2, 3].map(run));

  t.deepEqual(
    sent.map(({xml}) => mailsIn(xml)),
    [10],
  );
});

testStores('a node of one store sends the reports of one that is away, with the same id', async (t, {store}) => {
  const {count, run, sent, away, clock, shared} = await startDmarcCluster(t, {common: store});
  await count(3, 4);
  shared.afterDelivery = async () => {
    throw new Error('killed');
  };
  await t.throwsAsync(run(3), {message: 'killed'});
  shared.afterDelivery = async () => {};
  clock.ms += 3_600_000;

  await run(1);
  const before = sent.length;
  away.add(3);
  await run(1);

  t.is(before, 1, 'node 3 still sends it itself');
  t.deepEqual(
    sent.map(({by}) => by),
    [3, 1],
  );
  t.is(new Set(sent.map(({id, xml}) => id + xml)).size, 1);
});

test('reports come after the delay, each policy domain within 45 minutes at a time of its own', async t => {
  const {count, settle, sent, clock} = await startDmarcCluster(t);
  const domains = ['a.test', 'b.test', 'c.test', 'd.test', 'e.test', 'f.test'];
  for (const domain of domains) await count(1, 1, {policy_domain: domain, policy: policyOf(domain)});
  const midnight = Date.parse('2026-03-02T00:00:00Z');
  const sentBy = async (minutes: number) => {
    clock.ms = midnight + minutes * 60_000;
    await settle(2);
    return sent.length;
  };

  const [atHour, halfway, atEnd] = [await sentBy(57), await sentBy(82), await sentBy(107)];

  t.is(atHour, 0);
  t.true(halfway > 0 && halfway < domains.length, String(halfway));
  t.is(atEnd, domains.length);
});

test('what is counted after the report was made comes in a supplement with another id', async t => {
  const {count, settle, reported, ids} = await startDmarcCluster(t, {nodeNos: [1]});
  await count(1, 2);

  await settle();
  const [without, first] = [reported(), ids()];
  await count(1, 3);
  await settle();

  t.deepEqual([without, reported()], [2, 5]);
  t.deepEqual([first.length, ids().length], [1, 2]);
});

test('a node that dies after it has sent a report sends the same one again, and what it counted since apart', async t => {
  const {count, settle, shared, restart, sent, reported} = await startDmarcCluster(t, {nodeNos: [1]});
  await count(1, 2);
  shared.afterDelivery = async () => {
    throw new Error('killed');
  };

  await t.throwsAsync(settle(), {message: 'killed'});
  shared.afterDelivery = async () => {};
  restart(1);
  await count(1, 3);
  await settle();

  t.deepEqual(sent.map(({xml}) => mailsIn(xml)).toSorted(), [2, 2, 3]);
  t.is(new Set(sent.map(({id, xml}) => id + xml)).size, 2);
  t.is(reported(), 5);
});

test('an address is tried again for 24 hours, and one that refuses for good is left out for 30 days', async t => {
  const {count, settle, shared, clock, sent, ended, storeOf} = await startDmarcCluster(t, {nodeNos: [1]});
  const policy = policyOf('bank.test', {reportTo: ['later@bank.test', 'no@bank.test', 'yes@bank.test']});
  await count(1, 1, {policy});
  shared.answer = async address => {
    if (address === 'yes@bank.test') return {state: 'sent', detail: '250 Ok'};
    return address === 'no@bank.test' ? {state: 'refused', detail: '550 No'} : {state: 'waiting', detail: '451 Later'};
  };

  await settle();
  const afterFirst = (await storeOf(1).dmarc.listReports({limit: 1, offset: 0})).reports[0];
  clock.ms += 25 * 3_600_000;
  await settle();
  const [report] = (await storeOf(1).dmarc.listReports({limit: 1, offset: 0})).reports;
  await count(1, 1, {day: '2026-03-03', policy});
  clock.ms = Date.parse('2026-03-04T12:00:00Z');
  await settle();
  const [next] = (await storeOf(1).dmarc.listReports({limit: 1, offset: 0})).reports;

  t.is(afterFirst?.state, 'waiting');
  t.is(report?.state, 'sent');
  t.deepEqual(
    report?.addresses.map(({state}) => state),
    ['waiting', 'refused', 'sent'],
  );
  t.deepEqual(
    next?.addresses.map(({state}) => state),
    ['waiting', 'left out', 'sent'],
  );
  t.is(sent.filter(({id}) => id === report?.id).length, 1);
  t.is(ended.length, 1);
});

test('addresses whose server has got enough for now get the report in a later run, as one attempt', async t => {
  const {count, run, settle, shared, clock, sent, storeOf} = await startDmarcCluster(t, {nodeNos: [1]});
  const addresses = Array.from({length: 7}, (_, n) => `d${n}@bank.test`);
  await count(1, 1, {policy: policyOf('bank.test', {reportTo: addresses})});
  let left = 3;
  shared.answer = async () => {
    left -= 1;
    return left < 0 ? {state: 'waiting', detail: 'enough', isPostponed: true} : {state: 'sent', detail: '250 Ok'};
  };

  await settle(1);
  await run(1);
  const first = sent.length;
  clock.ms += 20_000;
  left = 3;
  await run(1);
  const early = sent.length;
  for (let n = 0; n < 3; n += 1) {
    clock.ms += 60_000;
    left = n === 0 ? 0 : 3;
    await run(1);
  }

  const [report] = (await storeOf(1).dmarc.listReports({limit: 1, offset: 0})).reports;
  t.deepEqual([first, early, sent.length], [3, 3, 7]);
  t.deepEqual(sent.map(({address}) => address).toSorted(), addresses);
  t.like(report, {state: 'sent', attempts: 3});
  t.deepEqual(Object.keys(report?.addresses[0] ?? {}).toSorted(), ['address', 'detail', 'state']);
});

test('a report that reaches nobody within 24 hours is given up, and one that nobody wants is not tried', async t => {
  const {count, settle, shared, clock, ended, sent} = await startDmarcCluster(t, {nodeNos: [1]});
  await count(1, 1);
  shared.answer = async () => ({state: 'waiting', detail: '451 Later'});
  await settle();
  clock.ms += 25 * 3_600_000;
  await settle();
  await count(1, 1, {day: '2026-03-02', digest: 'next'});
  shared.wants = async () => undefined;
  clock.ms = Date.parse('2026-03-03T23:00:00Z');
  await settle();
  await count(1, 1, {day: '2026-03-03', digest: 'without', policy: policyOf('bank.test', {reportTo: []})});
  clock.ms = Date.parse('2026-03-04T23:00:00Z');
  await settle();

  t.deepEqual(
    ended.map(({state, addresses}) => [state, addresses[0]?.state]),
    [
      ['given up', 'waiting'],
      ['refused', 'left out'],
    ],
  );
  t.deepEqual(sent, []);
});

test('a report that fails does not keep the others waiting, and is given up like any other', async t => {
  const {count, settle, shared, clock, sent, ended} = await startDmarcCluster(t, {nodeNos: [1]});
  for (const domain of ['a.test', 'b.test', 'c.test'])
    await count(1, 1, {policy_domain: domain, policy: policyOf(domain, {reportTo: [`dmarc@${domain}`]})});
  shared.answer = async address => {
    if (address === 'dmarc@b.test') throw new Error('a bug');
    return {state: 'sent', detail: '250 Ok'};
  };

  await t.throwsAsync(settle(), {message: 'a bug'});
  clock.ms += 25 * 3_600_000;
  await t.throwsAsync(settle(), {message: 'a bug'});
  await settle();

  t.deepEqual(sent.map(({address}) => address).toSorted(), ['dmarc@a.test', 'dmarc@c.test']);
  t.deepEqual(ended.map(({policy_domain, state}) => `${policy_domain} ${state}`).toSorted(), [
    'a.test sent',
    'b.test given up',
    'c.test sent',
  ]);
});

test('counts of a policy without an address are in no report', async t => {
  const {count, settle, sent, storeOf} = await startDmarcCluster(t, {nodeNos: [1]});
  await count(1, 1);
  await count(1, 1, {policy_domain: 'silent.test', policy: policyOf('silent.test', {reportTo: []})});
  await count(1, 1, {policy_domain: '', policy: null, digest: 'without a policy'});

  await settle();

  t.is(sent.length, 1);
  t.is((await storeOf(1).dmarc.listReports({limit: 10, offset: 0})).total, 1);
  t.deepEqual(await storeOf(1).dmarc.unreported('2026-03-02'), []);
});

/** A small generator of random numbers, so that a failure can be repeated. */
const randomFrom = (seed: number) => {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
};

/** Nodes count, send, die and stay away in an order that the seed decides. */
const runAtRandom = async (t: ExecutionContext, seed: number, common?: Store): Promise<void> => {
  const random = randomFrom(seed);
  const day = `2026-02-${String(seed).padStart(2, '0')}`;
  const {count, run, away, shared, restart, settle, reported, clock} = await startDmarcCluster(t, {...(common && {common})});
  const pick = <T>(all: readonly T[]): T => all[Math.floor(random() * all.length)] as T;
  let scanned = 0;
  for (let step = 0; step < 40; step += 1) {
    const no = pick([1, 2, 3]);
    if (random() < 0.2) {
      scanned += 1;
      await count(no, 1, {day, digest: pick(['a', 'b']), source_ip: pick(['192.0.2.1', '192.0.2.2'])});
    }
    if (random() < 0.2) away.add(pick([1, 2, 3]));
    if (random() < 0.4) away.delete(no);
    shared.afterDelivery = async () => {
      if (random() < 0.3) throw new Error('killed');
    };
    if (random() < 0.2) restart(no);
    clock.ms += 31_000;
    if (!away.has(no)) await run(no).catch(() => restart(no));
    t.true(reported() <= scanned, `seed ${seed}: ${reported()} of ${scanned}`);
  }
  away.clear();
  shared.afterDelivery = async () => {};
  clock.ms += 600_000;
  await settle(6);
  t.is(reported(), scanned, `seed ${seed}`);
};

test('whatever fails and dies in between, in the end every mail is reported once', async t => {
  for (let seed = 1; seed <= 12; seed += 1) await runAtRandom(t, seed);
});

testStores('whatever fails and dies in between, nodes of one store report every mail once', async (t, {store}) => {
  for (let seed = 1; seed <= 3; seed += 1) await runAtRandom(t, seed, store);
});

import test from 'ava';
import {Fault} from '../../../../shared/fault.ts';
import {policyOf} from '../../../helpers/dmarc.ts';
import {startDmarcCluster} from '../../../helpers/dmarc-cluster.ts';

test('three nodes send one report of what all of them counted', async t => {
  const {count, settle, sent, reported} = await startDmarcCluster(t);
  await count(1, 2);
  await count(2, 3);
  await count(3, 5);
  await count(3, 1, {domain: 'other.example'});

  await settle();
  await settle();

  t.is(sent.length, 1);
  t.is(reported(), 11);
  t.regex(sent[0]?.id ?? '', /^2026-03-01\.bank\.test\.[0-9a-f]{8}@example\.com$/);
  t.is([...(sent[0]?.xml ?? '').matchAll(/<record>/g)].length, 1, 'nodes and domains that receive are no part of it');
});

test('a policy domain with _ is counted by several nodes and reported by one like any other', async t => {
  const {count, settle, sent, reported} = await startDmarcCluster(t);
  for (const node of [1, 2, 3]) await count(node, 1, {policy_domain: 'x_y.bank.test', policy: policyOf('x_y.bank.test')});

  await settle();
  await settle();

  t.is(sent.length, 1);
  t.is(reported(), 3);
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
  t.is(new Set(sent.map(({by}) => by)).size > 1, true, 'the work is shared');
});

test('what a node counted that was away comes in a supplement with another id', async t => {
  const {count, settle, lines, reported, ids} = await startDmarcCluster(t);
  await count(1, 2);
  await count(2, 2);
  await count(3, 2);
  lines.set(3, 'is down');

  await settle();
  const [without, first] = [reported(), ids()];
  lines.set(3, 'works');
  await settle();

  t.deepEqual([without, reported()], [4, 6]);
  t.deepEqual([first.length, ids().length], [1, 2]);
});

test('a node that dies after it has sent a report sends the same one again', async t => {
  const {count, settle, shared, restart, sent, reported} = await startDmarcCluster(t);
  await count(1, 2);
  await count(2, 3);
  let by = 0;
  shared.afterDelivery = async no => {
    by = no;
    throw new Error('killed');
  };

  await settle().catch(() => {});
  await t.throwsAsync(settle(), {message: 'killed'});
  shared.afterDelivery = async () => {};
  restart(by);
  await settle();

  t.true(sent.length >= 2);
  t.is(new Set(sent.map(({id, xml}) => id + xml)).size, 1);
  t.is(reported(), 5);
});

test('counts whose holder may have got them are reported by nobody else', async t => {
  const {count, settle, lines, reported, restart, sent} = await startDmarcCluster(t);
  for (const no of [1, 2, 3]) await count(no, 1);
  for (const no of [1, 2, 3]) lines.set(no, 'answers get lost');

  await settle();
  const holder = sent[0]?.by ?? 0;
  lines.set(holder, 'is down');
  for (const no of [1, 2, 3]) if (no !== holder) restart(no);
  await settle();
  const meanwhile = reported();
  for (const no of [1, 2, 3]) lines.set(no, 'works');
  await settle();

  t.is(meanwhile, 3);
  t.is(reported(), 3);
});

test('nodes agree on another one when the holder cannot be reached, and one that sends no reports is passed over', async t => {
  const {count, settle, lines, sent, reported} = await startDmarcCluster(t);
  for (const no of [1, 2, 3]) await count(no, 1);
  lines.set(1, 'refuses');
  lines.set(2, 'refuses');
  lines.set(3, 'refuses');

  await settle();

  t.is(reported(), 3);
  t.is(new Set(sent.map(({by}) => by)).size, sent.length, 'each its own');
});

test('an address is tried again for 24 hours, and one that refuses for good is left out for 30 days', async t => {
  const {count, settle, shared, clock, sent, ended, storeOf} = await startDmarcCluster(t, [1]);
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
  const {count, run, settle, shared, clock, sent, storeOf} = await startDmarcCluster(t, [1]);
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
  const {count, settle, shared, clock, ended, sent} = await startDmarcCluster(t, [1]);
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
  const {count, settle, shared, clock, sent, ended} = await startDmarcCluster(t, [1]);
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

test('a node that dies before it has offered its counts gives them to another holder', async t => {
  const {count, settle, run, lines, restart, reported, storeOf} = await startDmarcCluster(t);
  for (const no of [1, 2, 3]) await count(no, 1);
  for (const no of [1, 2, 3]) {
    const subject = {day: '2026-03-01', policy_domain: 'bank.test'};
    const batch = {...subject, batch: `b${no}`, holder: (no % 3) + 1, held_at: '2026-03-02T01:00:00.000Z'};
    await storeOf(no).transaction(async tx => tx.dmarc.assign(batch, no));
    restart(no);
  }
  lines.set(2, 'is down');
  await run(1);

  lines.set(2, 'works');
  await settle(6);

  t.is(reported(), 3);
});

test('when an answer cannot be written down, the counts stay with the node that has got them', async t => {
  const {count, settle, shared, restart, reported} = await startDmarcCluster(t);
  for (const no of [1, 2, 3]) await count(no, 1);
  shared.onConfirm = async () => {
    throw new Fault('unavailable', 'the disk does not keep up');
  };

  await settle().catch(() => {});
  await settle().catch(() => {});
  for (const no of [1, 2, 3]) restart(no);
  shared.onConfirm = async () => {};
  await settle(6);

  t.is(reported(), 3);
});

test('counts that a node may have got that was removed are given up, and said so', async t => {
  const {count, run, lines, lost, settle, reported, storeOf} = await startDmarcCluster(t);
  await count(1, 4);
  lines.set(1, 'answers get lost');
  lines.set(2, 'answers get lost');
  lines.set(3, 'answers get lost');
  await run(1);
  const [batch] = await storeOf(1).dmarc.unconfirmed(1);
  lines.set(batch?.holder ?? 0, 'is removed');

  await run(1);
  await run(1);
  await settle();

  t.deepEqual(lost, [batch]);
  t.is(reported(), 4, 'it had got them');
});

test('one node reports a policy domain every day, and domains without an address have no report', async t => {
  const {count, settle, sent, clock, storeOf} = await startDmarcCluster(t);
  for (const day of ['2026-03-01', '2026-03-02', '2026-03-03']) {
    for (const no of [1, 2, 3]) await count(no, 1, {day, digest: day});
    const silent = policyOf('silent.test', {reportTo: []});
    await count(1, 1, {day, digest: `${day} silent`, policy_domain: 'silent.test', policy: silent});
    clock.ms = Date.parse(`${day}T00:00:00Z`) + 36 * 3_600_000;
    await settle();
  }

  t.is(sent.length, 3);
  t.is(new Set(sent.map(({by}) => by)).size, 1);
  const lists = await Promise.all([1, 2, 3].map(async no => storeOf(no).dmarc.listReports({limit: 10, offset: 0})));
  t.is(
    lists.reduce((sum, {total}) => sum + total, 0),
    3,
  );
});

/** A small generator of random numbers, so that a failure can be repeated. */
const randomFrom = (seed: number) => {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
};

test('whatever fails and dies in between, in the end every mail is reported once', async t => {
  for (let seed = 1; seed <= 12; seed += 1) {
    const random = randomFrom(seed);
    const {count, run, lines, shared, restart, settle, reported, clock} = await startDmarcCluster(t);
    const pick = <T>(all: readonly T[]): T => all[Math.floor(random() * all.length)] as T;
    let scanned = 0;
    for (let step = 0; step < 40; step += 1) {
      const no = pick([1, 2, 3]);
      if (random() < 0.2) {
        scanned += 1;
        await count(no, 1, {digest: pick(['a', 'b']), source_ip: pick(['192.0.2.1', '192.0.2.2'])});
      }
      lines.set(pick([1, 2, 3]), pick(['works', 'works', 'is down', 'answers get lost']));
      shared.afterDelivery = async () => {
        if (random() < 0.3) throw new Error('killed');
      };
      if (random() < 0.2) restart(no);
      clock.ms += 31_000;
      await run(no).catch(() => restart(no));
      t.true(reported() <= scanned, `seed ${seed}: ${reported()} of ${scanned}`);
    }
    lines.clear();
    shared.afterDelivery = async () => {};
    clock.ms += 600_000;
    await settle(6);
    t.is(reported(), scanned, `seed ${seed}`);
  }
});

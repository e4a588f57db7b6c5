import type {StoredReport} from '../../../daemon/services/dmarc/dmarc-store.ts';
import {mailCount} from '../../helpers/dmarc.ts';
import {testStores} from '../../helpers/store-makes.ts';

const subject = {day: '2026-03-01', policy_domain: 'bank.test'};

const report = (fields: Partial<StoredReport> = {}): StoredReport => ({
  ...subject,
  id: '2026-03-01.bank.test.00000000@example.com',
  holder: 1,
  state: 'waiting',
  addresses: [{address: 'dmarc@bank.test', state: 'waiting', detail: ''}],
  count: 3,
  created_at: '2026-03-02T01:00:00.000Z',
  attempts: 0,
  next_at: '2026-03-02T01:00:00.000Z',
  ended_at: null,
  ...fields,
});

testStores(
  'equal mails are counted in one row until they are in a report, and in another one afterwards',
  async (t, {store, reopen}) => {
    const add = async (count: number, seen_at: string) =>
      store.transaction(async tx => tx.dmarc.add([mailCount(count, {seen_at})], 1));
    const {id} = report();

    await add(2, '2026-03-01T10:00:00.000Z');
    await add(3, '2026-03-01T11:00:00.000Z');
    const before = [await store.dmarc.unreported('2026-03-01'), await store.dmarc.unreported('2026-03-02')];
    const claimed = await store.transaction(async tx => {
      const counts = await tx.dmarc.claim(subject, 'b1');
      await tx.dmarc.insertReport(report(), 'b1');
      return counts;
    });
    const between = await store.dmarc.unreported('2026-03-02');
    await add(1, '2026-03-01T12:00:00.000Z');

    const {store: again} = await reopen();
    t.deepEqual(before, [[], [subject]]);
    t.is(claimed.length, 1);
    t.like(claimed[0], {...mailCount(5, {seen_at: '2026-03-01T11:00:00.000Z'}), origin: 1, batch: 'b1'});
    t.deepEqual(
      await again.dmarc.reportedCounts(id),
      claimed.map(count => ({...count, report: id})),
    );
    t.deepEqual(between, []);
    t.deepEqual(await again.dmarc.unreported('2026-03-02'), [subject], 'the late mail');
  },
);

testStores('counts of another node are taken once, and reported with those of this one', async (t, {store}) => {
  const given = [{...mailCount(4), origin: 2, batch: 'b2'}];
  const take = async () => store.transaction(async tx => tx.dmarc.take(given));
  await store.transaction(async tx => tx.dmarc.add([mailCount(3)], 1));
  await take();
  await take();

  const claimed = await store.transaction(async tx => {
    const counts = await tx.dmarc.claim(subject, 'b1');
    await tx.dmarc.insertReport(report(), 'b1');
    return counts;
  });
  await take();

  t.deepEqual(
    claimed.map(({origin, count, batch}) => [origin, count, batch]),
    [
      [1, 3, 'b1'],
      [2, 4, 'b2'],
    ],
  );
  t.deepEqual(await store.dmarc.unreported('2026-03-02'), []);
  t.is((await store.dmarc.reportedCounts(report().id)).length, 2);
  const {sources, ...totals} = await store.dmarc.summary({domain: 'example.com', since: '2026-03-01', origin: 1});
  t.deepEqual(totals, {count: 3, passed: 3, source_count: 1});
  t.deepEqual(
    sources.map(({count}) => count),
    [3],
  );
  t.like(await store.dmarc.summary({domain: 'none.example', since: '2026-03-01', origin: 1}), {count: 0, source_count: 0});
});

testStores('counts that are left out are claimed for no report again', async (t, {store}) => {
  await store.transaction(async tx => {
    await tx.dmarc.add([mailCount(3)], 1);
    await tx.dmarc.claim(subject, 'b1');
    await tx.dmarc.leaveOut('b1');
  });

  t.deepEqual(await store.dmarc.unreported('2026-03-02'), []);
  t.deepEqual(await store.transaction(async tx => tx.dmarc.claim(subject, 'b2')), []);
});

testStores('reports are due, end, and say who has refused them', async (t, {store}) => {
  const refused = {address: 'no@bank.test', state: 'refused', detail: '550 no'} as const;
  await store.transaction(async tx => tx.dmarc.insertReport(report(), 'b1'));

  const early = await store.dmarc.dueReports(1, '2026-03-02T00:59:59.000Z');
  const due = await store.dmarc.dueReports(1, '2026-03-02T01:00:00.000Z');
  const ended = report({addresses: [refused], state: 'refused', attempts: 1, ended_at: '2026-03-02T01:00:01.000Z'});
  await store.transaction(async tx => tx.dmarc.updateReport(ended));
  await store.transaction(async tx => tx.dmarc.updateReport(report()));

  t.deepEqual([early, due], [[], [report()]]);
  t.deepEqual(await store.dmarc.dueReports(1, '2026-03-03T00:00:00.000Z'), []);
  t.deepEqual(await store.dmarc.listReports({limit: 10, offset: 0}), {reports: [ended], total: 1});
  await store.transaction(async tx => tx.dmarc.forget('2026-03-02'));
  t.is((await store.dmarc.listReports({limit: 10, offset: 0})).total, 0);
});

testStores('a refusal is of one address and domain, and for some time', async (t, {store}) => {
  const from = {address: 'no@reader.test', policy_domain: 'bank.test'};
  await store.transaction(async tx => tx.dmarc.noteRefusal(from, '2026-03-02T01:00:00.000Z'));
  await store.transaction(async tx => tx.dmarc.noteRefusal(from, '2026-03-03T01:00:00.000Z'));

  t.true(await store.dmarc.hasRefused(from, '2026-03-03T00:00:00.000Z'));
  t.false(await store.dmarc.hasRefused(from, '2026-03-04T00:00:00.000Z'));
  t.false(await store.dmarc.hasRefused({...from, policy_domain: 'shop.test'}, '2026-03-03T00:00:00.000Z'), 'others may send');
  await store.transaction(async tx => tx.dmarc.forget('2026-03-04'));
  t.false(await store.dmarc.hasRefused(from, '2026-03-03T00:00:00.000Z'));
});

testStores('reports that nodes which are gone have to send are taken over', async (t, {store}) => {
  const ended = {state: 'sent', ended_at: '2026-03-02T01:00:00.000Z'} as const;
  await store.transaction(async tx => {
    await tx.dmarc.insertReport(report({id: 'of 2', holder: 2}), 'b2');
    await tx.dmarc.insertReport(report({id: 'of 3', holder: 3}), 'b3');
    await tx.dmarc.insertReport(report({id: 'sent by 3', holder: 3, ...ended}), 'b4');
    await tx.dmarc.adopt([1, 2], 1);
  });

  const {reports} = await store.dmarc.listReports({limit: 10, offset: 0});
  t.deepEqual(
    reports.map(({id, holder}) => [id, holder]),
    [
      ['of 2', 2],
      ['of 3', 1],
      ['sent by 3', 3],
    ],
  );
});

testStores('a summary has a line for each source of a domain', async (t, {store}) => {
  const failing = {spf_aligned: false, dkim_aligned: false, source_ip: '198.51.100.7'};
  await store.transaction(async tx =>
    tx.dmarc.add(
      [
        mailCount(5),
        mailCount(2, {digest: 'spf only', dkim_aligned: false}),
        mailCount(3, {...failing, disposition: 'quarantine', digest: 'held'}),
        mailCount(1, {...failing, disposition: 'reject', digest: 'rejected'}),
        mailCount(9, {domain: 'other.example', digest: 'other'}),
        mailCount(9, {day: '2026-02-01', digest: 'earlier'}),
      ],
      1,
    ),
  );

  t.deepEqual(await store.dmarc.summary({domain: 'example.com', since: '2026-03-01', origin: undefined}), {
    ...{count: 11, passed: 7, source_count: 2},
    sources: [
      {source_ip: '192.0.2.5', count: 7, spf_aligned: 7, dkim_aligned: 5, passed: 7, held: 0, rejected: 0},
      {source_ip: '198.51.100.7', count: 4, spf_aligned: 0, dkim_aligned: 0, passed: 0, held: 3, rejected: 1},
    ],
  });
});

import {parseFeedback} from '../../../../daemon/mail/readers/report-parser.ts';
import type {ReadLimits, ReadReport} from '../../../../daemon/services/dmarc/received-report.ts';
import {createReportInbox, type ReportOrigin} from '../../../../daemon/services/dmarc/report-inbox.ts';
import type {Store} from '../../../../daemon/services/ports.ts';
import type {Domain} from '../../../../shared/domain.ts';
import {contentOf} from '../../../helpers/received-mail.ts';
import {receivedXml, yesterday} from '../../../helpers/received-report.ts';
import {testStores} from '../../../helpers/store-makes.ts';

const here = ['example.com', 'shop.example.com', 'other.test'];
const google: ReportOrigin = {domain: 'google.test', isVerified: true};

/** Without the mail around a report: its parts have tests of their own. */
const read: ReadReport = async ({open}) =>
  parseFeedback(open() as AsyncIterable<Buffer>).catch(({message}: Error) => ({unreadable: message}));

interface Watching {
  onLookUp?(name: string): void;
  onLog?(fields: object, message: string): void;
  reader?: ReadReport;
}

const openInbox = (store: Store, {onLookUp = () => {}, onLog = () => {}, reader = read}: Watching = {}) => {
  const inbox = createReportInbox({
    addresses: () => ['DMARC@example.com'],
    store,
    domains: {
      findByName(name) {
        onLookUp(name);
        return here.includes(name) ? ({name} as Domain) : undefined;
      },
      list: () => here.map(name => ({name}) as Domain),
    },
    read: reader,
    keepDays: () => 400,
    now: Date.now,
    log: {warn: onLog},
  });
  return {
    ...inbox,
    take: async (fields: Parameters<typeof receivedXml>[0], from = google) =>
      inbox.take(contentOf(Buffer.from(receivedXml(fields))), from),
    reported: async (domain: string, more: {isVerified?: boolean; without?: string[]} = {}) =>
      store.received.reported({domain, since: '2020-01-01', isVerified: false, without: [], ...more}),
  };
};

testStores('a report is stored once, however often it comes, and is still there after a restart', async (t, {store, reopen}) => {
  const inbox = openInbox(store);
  const report = {id: 'a', rows: [{ip: '192.0.2.1', count: 3}, {ip: '192.0.2.2', count: 1, spf: 'fail', dkim: 'fail'} as const]};

  const answers = [await inbox.take(report), await inbox.take(report), await inbox.take({...report, id: 'b'})];

  const {store: again} = await reopen();
  const {digests, ...sums} = await openInbox(again).reported('example.com');
  t.deepEqual(answers, [undefined, undefined, undefined]);
  t.is(digests.length, 2);
  t.deepEqual(sums, {
    ...{count: 8, passed: 6, source_count: 2},
    reporters: [{reporter: 'google.test', verified: true, count: 8, passed: 6}],
    sources: [
      {
        ...{source_ip: '192.0.2.1', count: 6, passed: 6, spf_passed: 6, spf_aligned: 6, dkim_passed: 6, dkim_aligned: 6},
        reporters: [{reporter: 'google.test', verified: true, count: 6}],
      },
      {
        ...{source_ip: '192.0.2.2', count: 2, passed: 0, spf_passed: 0, spf_aligned: 0, dkim_passed: 0, dkim_aligned: 0},
        reporters: [{reporter: 'google.test', verified: true, count: 2}],
      },
    ],
  });
});

testStores(
  'what a forger says in the name of a receiver neither replaces its report nor counts as verified',
  async (t, {store}) => {
    const inbox = openInbox(store);
    const forger = {domain: 'google.test', isVerified: false};
    await inbox.take({id: 'a', rows: [{ip: '203.0.113.9', count: 1000}]}, forger);

    await inbox.take({id: 'a', rows: [{ip: '192.0.2.1', count: 3}]});

    const all = await inbox.reported('example.com');
    const verified = await inbox.reported('example.com', {isVerified: true});
    t.is(all.count, 1003);
    t.deepEqual(
      all.sources.map(({source_ip, reporters}) => [source_ip, reporters[0]?.verified]),
      [
        ['203.0.113.9', false],
        ['192.0.2.1', true],
      ],
    );
    t.deepEqual([verified.count, verified.sources.length], [3, 1]);
  },
);

testStores(
  'a row belongs to the nearest domain here above its domain in From, and rows of others are left out',
  async (t, {store}) => {
    const inbox = openInbox(store);
    const rows = ['example.com', 'news.example.com', 'a.shop.example.com', 'bank.test', 'notexample.com', 'com'].map(
      (from, n) => ({
        ip: '192.0.2.1',
        from,
        count: 10 ** n,
      }),
    );

    const answer = await inbox.take({rows});

    t.is(answer, undefined);
    t.is((await inbox.reported('example.com')).count, 11);
    t.is((await inbox.reported('shop.example.com')).count, 100);
    t.is((await inbox.reported('other.test')).count, 0);
  },
);

testStores('a report about domains that are not here, and one with impossible dates, is left as mail', async (t, {store}) => {
  const inbox = openInbox(store);
  const elsewhere = {domain: 'bank.test', rows: [{ip: '192.0.2.1', from: 'bank.test'}]};
  const dates = [
    {begin: yesterday + 3 * 86_400, end: yesterday + 4 * 86_400},
    {begin: yesterday, end: yesterday - 1},
    {begin: yesterday - 40 * 86_400, end: yesterday},
    {begin: 0, end: 86_399},
    {begin: 999_999_999_999, end: 999_999_999_999},
  ];

  t.is(await inbox.take(elsewhere), 'it is about no domain here, but about bank.test');
  for (const wrong of dates) t.is(await inbox.take(wrong), 'its dates are wrong, or long ago', JSON.stringify(wrong));
  t.is(await inbox.take({id: ''}), 'the report has no report_id');
  t.is(await inbox.take({rows: []}), 'it has no records');
  t.is((await inbox.reported('example.com')).count, 0);
});

testStores(
  'a sender may send fifty reports a day about one domain, and all that are not verified together',
  async (t, {store}) => {
    const inbox = openInbox(store);
    const fill = async (from: (n: number) => ReportOrigin) => {
      const answers = [];
      for (let n = 0; n < 52; n += 1) answers.push(await inbox.take({id: String(n)}, from(n)));
      return answers.filter(answer => answer === undefined).length;
    };

    const known = await fill(() => google);
    const unknown = await fill(n => ({domain: `mail${n}.test`, isVerified: false}));
    const another = await inbox.take({id: 'x'}, {domain: 'yahoo.test', isVerified: true});
    const elsewhere = await inbox.take({id: 'x', rows: [{ip: '192.0.2.1', from: 'other.test'}]});

    t.deepEqual([known, unknown], [50, 50]);
    t.regex((await inbox.take({id: 'y'})) ?? '', /^its sender has sent too many reports today about example\.com$/);
    t.deepEqual([another, elsewhere], [undefined, undefined], 'others may go on, and it about other domains');
  },
);

testStores(
  'whoever has many names below one domain may not send more reports, nor more rows, than others',
  async (t, {store}) => {
    const inbox = openInbox(store);
    const from = (domain: string): ReportOrigin => ({domain, isVerified: true});
    await receiveToday(
      store,
      Array.from({length: 49}, (_, n) => ({reporter: `mail${n}.evil.test`, source_count: n === 0 ? 4997 : 0})),
    );

    const last = await inbox.take({id: 'a', rows: fiveRows}, from('x.y.evil.test'));
    const more = await inbox.take({id: 'b'}, from('mail50.evil.test'));
    const others = [await inbox.take({id: 'b'}, google), await inbox.take({id: 'b'}, from('notevil.test'))];

    t.deepEqual([last, ...others], [undefined, undefined, undefined]);
    t.regex(more ?? '', /^its sender has sent too many reports today/);
    const {sources} = await inbox.reported('example.com');
    t.deepEqual(
      sources.map(({source_ip, count}) => [source_ip, count]),
      [
        ['192.0.2.5', 5],
        ['192.0.2.4', 4],
        ['192.0.2.3', 3],
        ['::', 3],
        ['192.0.2.1', 2],
      ],
    );
  },
);

testStores('a report that comes again is known as one when no further report is taken', async (t, {store}) => {
  const inbox = openInbox(store);
  const rows = Array.from({length: 3}, (_, n) => ({ip: `192.0.2.${n}`}));
  for (let n = 0; n < 50; n += 1) await inbox.take({id: String(n), rows});

  t.is(await inbox.take({id: '7', rows}), undefined);
  t.regex((await inbox.take({id: 'new', rows})) ?? '', /too many reports/);
  t.is((await inbox.reported('example.com')).count, 150);
});

testStores('a name in a report is looked up as often as domains here have labels, however many it has', async (t, {store}) => {
  const names: string[] = [];
  const inbox = openInbox(store, {onLookUp: name => names.push(name)});

  await inbox.take({
    rows: ['bank.test', 'shop.example.com'].map(name => ({ip: '192.0.2.1', from: `${'a.'.repeat(110)}${name}`})),
  });

  t.deepEqual(names, ['a.bank.test', 'bank.test', 'test', 'shop.example.com']);
  t.is((await inbox.reported('shop.example.com')).count, 1);
});

testStores('the sources of a large report are gone through in turns with other work', async (t, {store}) => {
  let turns = 0;
  let next = setImmediate(function count() {
    turns += 1;
    next = setImmediate(count);
  });
  t.teardown(() => clearImmediate(next));
  const seen = new Set<number>();
  const nothing = {passed: 0, spf_passed: 0, spf_aligned: 0, dkim_passed: 0, dkim_aligned: 0};
  const sources = Array.from({length: 20_000}, (_, n) => ({
    ...{header_from: `a${n}.bank.test`, source_ip: '192.0.2.1', count: 1, ...nothing},
  }));
  const report = {report_id: 'a', policy_domain: 'bank.test', begin: yesterday, end: yesterday + 60, bad_rows: 0, sources};
  const inbox = openInbox(store, {reader: async () => report, onLookUp: () => seen.add(turns)});

  t.regex((await inbox.take({})) ?? '', /about no domain here/);
  t.true(seen.size >= 4, `${seen.size}`);
});

/** Reports that came today: their numbers alone. */
const receiveToday = async (
  store: Store,
  uses: {reporter: string; source_count: number; is_verified?: boolean}[],
  digest = 'use',
) =>
  store.transaction(async tx => {
    for (const [n, use] of uses.entries())
      await tx.received.insert(
        {
          ...{digest: `${digest}${n}`, domain: 'example.com', day: '2020-01-01', is_verified: true},
          received_at: new Date().toISOString(),
          ...use,
        },
        [],
      );
  });

const fiveRows = [1, 2, 3, 4, 5].map(n => ({ip: `192.0.2.${n}`, count: n, ...(n < 3 && ({spf: 'fail', dkim: 'fail'} as const))}));

testStores('beyond the rows of a day the sources with the fewest mails are summed up in one', async (t, {store}) => {
  const inbox = openInbox(store);
  await receiveToday(store, [{reporter: 'google.test', source_count: 4998}]);

  const answer = await inbox.take({id: 'a', rows: [...fiveRows, {ip: '::', count: 10}]});
  const after = await inbox.take({id: 'b', rows: fiveRows});

  const {count, passed, sources} = await inbox.reported('example.com');
  t.deepEqual([answer, after], [undefined, undefined]);
  t.deepEqual([count, passed], [40, 34], 'the sums are right all the same');
  t.deepEqual(
    sources.map(source => [source.source_ip, source.count, source.passed]),
    [
      ['::', 31, 25],
      ['192.0.2.5', 5, 5],
      ['192.0.2.4', 4, 4],
    ],
  );
});

testStores('senders that are not verified share few rows, and no sender uses up those of a domain', async (t, {store}) => {
  const inbox = openInbox(store);
  const rowsOf = async (from: ReportOrigin, id: string) => {
    const before = (await inbox.reported('example.com')).source_count;
    await inbox.take({id, rows: fiveRows.map(({ip}) => ({ip: ip.replace('192.0.2', `198.51.${id}`)}))}, from);
    return (await inbox.reported('example.com')).source_count - before;
  };
  await receiveToday(store, [
    {reporter: 'x.test', source_count: 600, is_verified: false},
    {reporter: 'y.test', source_count: 397, is_verified: false},
    ...['a', 'b', 'c'].map(name => ({reporter: `${name}.test`, source_count: 5000})),
  ]);

  const unknown = await rowsOf({domain: 'z.test', isVerified: false}, '1');
  const known = await rowsOf(google, '2');
  await receiveToday(store, [{reporter: 'd.test', source_count: 3992}], 'later');
  const last = await rowsOf(google, '3');

  t.deepEqual(
    [unknown, known, last],
    [4, 5, 2],
    'three and one for the rest; all; two that fit, as the row for the rest is there already',
  );
});

testStores('what is older than it is kept is forgotten, with its sources', async (t, {store}) => {
  const inbox = openInbox(store);
  await inbox.take({id: 'old', begin: yesterday - 86_400, end: yesterday - 1});
  await inbox.take({id: 'new'});
  const day = new Date(yesterday * 1000).toISOString().slice(0, 10);

  await store.transaction(async tx => tx.received.forget(day));

  const {digests, count} = await inbox.reported('example.com');
  t.deepEqual([digests.length, count], [1, 1]);
});

testStores('a report of thousands of rows is stored, and what another node has counted is left out', async (t, {store}) => {
  const inbox = openInbox(store);
  const rows = Array.from({length: 5200}, (_, n) => ({ip: `10.0.${n >> 8}.${n & 255}`, count: 2}));
  await inbox.take({id: 'big', rows});
  await inbox.take({id: 'small'});
  const {digests, ...all} = await inbox.reported('example.com');

  const [rest] = await Promise.all(digests.map(async digest => inbox.reported('example.com', {without: [digest]})));
  const none = await inbox.reported('example.com', {without: digests});

  t.deepEqual([all.count, all.source_count, all.sources.length], [10_401, 5001, 1000]);
  t.true([1, 10_400].includes(rest?.count ?? 0));
  t.deepEqual([none.count, none.source_count, none.digests, none.sources], [0, 0, [], []]);
});

testStores('addresses are compared as mail servers do, without the case of the domain', async (t, {store}) => {
  const inbox = openInbox(store);

  t.deepEqual(
    ['dmarc@EXAMPLE.com', 'dmarc@example.com.', 'dmarc@example.org', 'dmarc+x@example.com', ''].map(inbox.isForReports),
    [true, true, false, false, false],
  );
});

testStores('only a sender with a verified report before this one may send large ones', async (t, {store}) => {
  const given: [megabytes: number, cpuMs: number][] = [];
  const reader: ReadReport = async (content, limits: ReadLimits) => {
    given.push([limits.maxUnpackedBytes / 1024 / 1024, limits.maxCpuMs]);
    return read(content, limits);
  };
  const inbox = openInbox(store, {reader});
  const forger = {domain: 'google.test', isVerified: false};

  await inbox.take({id: 'a'}, forger);
  await inbox.take({id: 'b'});
  await inbox.take({id: 'c'});
  await inbox.take({id: 'd'}, {domain: 'other.test', isVerified: true});
  await inbox.take({id: 'e'}, forger);

  t.deepEqual(given, [
    [20, 2000],
    [20, 2000],
    [100, 20_000],
    [20, 2000],
    [20, 2000],
  ]);
});

/** The most reports that are read at the same time, one of each sender. None ends before `wanted` of them are being read. */
const readTogether = async (store: Store, wanted: number, domains: readonly string[]): Promise<number> => {
  const waiting = new Set<() => void>();
  let most = 0;
  const reader: ReadReport = async (content, limits) => {
    await new Promise<void>(resolve => {
      waiting.add(resolve);
      most = Math.max(most, waiting.size);
      if (most >= wanted)
        setImmediate(() => {
          for (const end of waiting) end();
        });
    });
    waiting.clear();
    return read(content, limits);
  };
  const inbox = openInbox(store, {reader});
  await Promise.all(domains.map(async (domain, n) => inbox.take({id: String(n)}, {domain, isVerified: true})));
  return most;
};

testStores('a report waits for others of the same owner, whatever name below its domain he uses', async (t, {store}) => {
  const inbox = openInbox(store);
  for (const domain of ['a.evil.test', 'b.evil.test', 'c.one.co.uk', 'two.co.uk', 'evil.test'])
    await inbox.take({id: domain}, {domain, isVerified: true});

  t.is(await readTogether(store, 1, ['a.evil.test', 'b.evil.test', 'evil.test']), 1);
  t.is(await readTogether(store, 2, ['c.one.co.uk', 'two.co.uk']), 2);
  t.is(await readTogether(store, 2, ['a.evil.test', 'two.co.uk']), 2);
});

testStores('a report that is not verified waits for those of its network, whatever domain it names', async (t, {store}) => {
  const order: string[] = [];
  const reader: ReadReport = async (content, limits) => {
    const report = await read(content, limits);
    if ('report_id' in report) order.push(report.report_id);
    return report;
  };
  const inbox = openInbox(store, {reader});
  const stranger = (n: number, network: string) => ({domain: `${n}.test`, isVerified: false, network});

  await Promise.all([
    inbox.take({id: 'first'}, stranger(1, '192.0.2.0/24')),
    inbox.take({id: 'last'}, stranger(2, '192.0.2.0/24')),
    inbox.take({id: 'between'}, stranger(3, '203.0.113.0/24')),
  ]);

  t.deepEqual(order, ['first', 'between', 'last']);
});

testStores('rows that are left out of a report are said in the log, when it is stored', async (t, {store}) => {
  const lines: object[] = [];
  const inbox = openInbox(store, {onLog: fields => lines.push(fields)});
  const rows = [{ip: '192.0.2.1'}, {ip: 'nowhere'}];

  t.is(await inbox.take({id: 'a', rows}), undefined);
  await inbox.take({id: 'b', rows: [{ip: '192.0.2.1'}]});
  for (let n = 0; n < 49; n += 1) await inbox.take({id: `more ${n}`});
  t.regex((await inbox.take({id: 'too many', rows})) ?? '', /too many reports/);

  t.deepEqual(lines, [{reporter: 'google.test', report_id: 'a', bad_rows: 1}]);
});

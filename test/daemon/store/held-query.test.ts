import fc from 'fast-check';
import type {Store} from '../../../daemon/services/ports.ts';
import type {NewHeldMail} from '../../../daemon/services/quarantine/stored-mail.ts';
import type {HoldFilter} from '../../../shared/hold-filter.ts';
import {reasons} from '../../../shared/reason.ts';
import {type AccessScope, domainIdsIn} from '../../../shared/scopes.ts';
import {nodeId, testSqlite, testStores} from '../../helpers/store-makes.ts';
import {oddSubjects, releasedFor, storedMail} from '../../helpers/stored-mail.ts';

const mailWith = (at: number, second: number): NewHeldMail =>
  storedMail({
    queue_id: `mail${String((at * 7919) % 1000).padStart(6, '0')}`,
    arrived_at: new Date(Date.UTC(2026, 2, 1, 12, 0, second)).toISOString(),
    domain: `d${at % 3}.test`,
    domain_id: (at % 3) + 1,
    sender: `s${at % 4}@from.test`,
    from: at % 6 === 5 ? null : [`s${at % 3}@from.test`, `a${at % 2}@author${at % 4}.test`],
    recipients: [`r${at % 5}@d${at % 3}.test`],
    subject: `number ${at % 6}`,
    score: at % 10,
    reason: reasons[at % reasons.length] ?? 'spam',
  });

const filters: HoldFilter[] = [
  {},
  {domain: 'd1.test'},
  {reason: 'spam', min_score: 3},
  {sender: 's1@from.test'},
  {recipient: 'r2@d1.test'},
  {from: 'a1@author3.test'},
  {from: 'author2.test', recipient: 'r1@d0.test'},
  {from: 'from.test', min_score: 3},
  {address: 's1@from.test'},
  {address: 'r2@d1.test', from: 'author1.test'},
  {subject: 'number 4'},
  {requested: true},
  {requested: true, reason: 'spam', subject: 'number 4'},
  {since: '2026-03-01T12:00:02.000Z', until: '2026-03-01T12:00:05.000Z'},
];
const reaches: AccessScope[] = [
  {kind: 'all'},
  {kind: 'domain', domainId: 2},
  {kind: 'domains', domainIds: [1, 3]},
  {kind: 'domains', domainIds: [3]},
  {kind: 'none'},
];

/** Many mails of the same time are sorted by queue id. */
const holdMany = async (store: Store): Promise<void> => {
  const mails = Array.from({length: 150}, (_, at) => mailWith(at, (at * 13) % 8));
  await store.transaction(async tx => tx.hold.insert(mails));
};

testStores(
  'a reach of some domains finds their mail and no other, and counts just that, for every filter',
  async (t, {store, heldQuery}) => {
    await holdMany(store);
    const page = {limit: 1000, offset: 0};

    for (const filter of filters) {
      const all = await heldQuery.list(filter, {kind: 'all'}, page);
      for (const reach of reaches) {
        const ids = domainIdsIn(reach) ?? [1, 2, 3];
        const expected = all.mails.filter(({recipients}) => ids.some(id => recipients[0]?.endsWith(`@d${id - 1}.test`)));

        t.deepEqual(await heldQuery.list(filter, reach, page), {mails: expected, total: expected.length});
        const groups = await heldQuery.groups(filter, reach);
        t.is(
          groups.reduce((sum, {count}) => sum + count, 0),
          expected.length,
        );
      }
    }
  },
);

testStores('pages are the whole list in parts, for every filter and reach', async (t, {store, heldQuery: query}) => {
  await holdMany(store);

  for (const filter of filters)
    for (const reach of reaches) {
      const whole = await query.list(filter, reach, {limit: 1000, offset: 0});
      const offsets = Array.from({length: Math.ceil(150 / 7)}, (_, page) => page * 7);
      const pages = await Promise.all(offsets.map(async offset => query.list(filter, reach, {limit: 7, offset})));

      t.deepEqual(
        pages.flatMap(({mails}) => mails),
        whole.mails,
      );
      t.true(pages.every(({total}) => total === whole.mails.length));
      t.deepEqual(
        whole.mails,
        whole.mails.toSorted((a, b) => b.arrived_at.localeCompare(a.arrived_at) || a.queue_id.localeCompare(b.queue_id)),
      );
    }
});

testSqlite(
  'samples and positions say of the list what the list itself says, for every filter and reach',
  async (t, {store, heldQuery: query}) => {
    await holdMany(store);

    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...filters),
        fc.constantFrom(...reaches),
        fc.record({offset: fc.nat(60), stride: fc.integer({min: 1, max: 20}), limit: fc.integer({min: 1, max: 12})}),
        async (filter, reach, steps) => {
          const {mails, total} = await query.list(filter, reach, {limit: 1000, offset: 0});

          const marked = await query.samples(filter, reach, steps);

          const cursors = mails.map(({arrived_at, node_id, queue_id}) => ({arrived_at, node_id, queue_id}));
          const expected = cursors.slice(steps.offset).filter((_, index) => (index + 1) % steps.stride === 0);
          t.deepEqual(marked, {marks: expected.slice(0, steps.limit), total});

          for (const cursor of cursors.slice(0, 5)) {
            const positionOf = async (node_id: string) => query.positionOf(filter, reach, {...cursor, node_id});
            t.is(await positionOf(nodeId), cursors.indexOf(cursor));
            // Mails of the same time are sorted by node.
            t.is(await positionOf('a'), cursors.filter(({arrived_at}) => arrived_at > cursor.arrived_at).length);
            t.is(await positionOf('beta'), cursors.filter(({arrived_at}) => arrived_at >= cursor.arrived_at).length);
          }
        },
      ),
      {numRuns: 60},
    );
  },
);

const written = (n: number, from: string[] | null, more: Partial<NewHeldMail> = {}): NewHeldMail =>
  storedMail({
    queue_id: `Mail${String(n).padStart(6, '0')}`,
    sender: 'bounce@mailer.test',
    from,
    recipients: ['a@one.test'],
    subject: 'x',
    score: 8,
    arrived_at: new Date(Date.UTC(2026, 2, 1) + n * 1000).toISOString(),
    ...more,
  });

testStores('mail is found by each address in its header From, and by their domains', async (t, {store, heldQuery}) => {
  const mails = [
    written(1, ['ceo@bank.test']),
    written(2, ['ceo@bank.test', 'cfo@bank.test', 'x@other.test']),
    written(3, ['ceo@sub.bank.test', 'ceo@bank.test.evil.test', 'ceo@abank.test', 'ceo@bank.tes']),
    written(4, ['"a@b"@bank.test', 'zo\u00eb@bank.test', 'o\'x"y@bank.test']),
    written(5, ['root'], {sender: 'ceo@bank.test'}),
    written(6, []),
    written(7, null),
    written(8, ['x@other.test'], {recipients: ['b@one.test', 'ceo@bank.test']}),
    written(9, ['a@first.test', 'b@second.test', 'c@first.test', 'd@second.test']),
    written(10, ['b@second.test', 'a@first.test']),
  ];
  await store.transaction(async tx => tx.hold.insert(mails));
  const found = async (filter: HoldFilter) => {
    const {mails: list, total} = await heldQuery.list(filter, {kind: 'all'}, {limit: 100, offset: 0});
    t.is(total, list.length);
    return list.map(({queue_id}) => Number(queue_id.slice(4))).sort((a, b) => a - b);
  };

  t.deepEqual(await found({from: 'ceo@bank.test'}), [1, 2]);
  t.deepEqual(await found({from: 'bank.test'}), [1, 2, 4]);
  t.deepEqual(await found({from: '"a@b"@bank.test'}), [4]);
  t.deepEqual(await found({from: 'zo\u00eb@bank.test'}), [4]);
  t.deepEqual(await found({from: 'first.test'}), [9, 10]);
  t.deepEqual(await found({from: 'second.test'}), [9, 10]);
  t.deepEqual(await found({from: 'mailer.test'}), []);
  t.deepEqual(await found({from: 'nobody@bank.test'}), []);
  t.deepEqual(await found({address: 'ceo@bank.test'}), [1, 2, 5, 8]);
  t.deepEqual(await found({address: 'ceo@bank.test', from: 'other.test'}), [2, 8]);
  t.deepEqual(await found({address: 'bounce@mailer.test'}), [1, 2, 3, 4, 6, 7, 8, 9, 10]);
  const {mails: list} = await heldQuery.list({}, {kind: 'all'}, {limit: 100, offset: 0});
  const byId = (entries: Pick<NewHeldMail, 'queue_id' | 'from'>[]) =>
    entries.map(({queue_id, from}) => [queue_id, from] as const).sort(([a], [b]) => a.localeCompare(b));
  t.deepEqual(byId(list), byId(mails));
});

testStores('mail is found by its author while it is held, and again when it has come back', async (t, {store, heldQuery}) => {
  const mail = written(1, ['ceo@bank.test']);
  const totals = async () =>
    Promise.all(
      [{from: 'bank.test'}, {from: 'ceo@bank.test'}, {address: 'ceo@bank.test'}].map(
        async filter => (await heldQuery.list(filter, {kind: 'all'}, {limit: 10, offset: 0})).total,
      ),
    );
  await store.transaction(async tx => tx.hold.insert([mail]));
  t.deepEqual(await totals(), [1, 1, 1]);

  const lost = {state: 'lost', at: mail.arrived_at, keyId: null} as const;
  await store.transaction(async tx => tx.hold.end([mail.queue_id], 'held', lost));
  t.deepEqual(await totals(), [0, 0, 0]);
  const ended = await store.hold.find(mail.queue_id);
  await store.transaction(async tx => ended && tx.hold.reopen(ended, mail.arrived_at));
  t.deepEqual(await totals(), [1, 1, 1]);
  await store.transaction(async tx => tx.hold.forget(mail.queue_id));
  t.deepEqual(await totals(), [0, 0, 0]);
});

testStores(
  'an address of thousands of mails, or of its domain, is counted exactly and listed in order',
  async (t, {store, heldQuery}) => {
    const many = Array.from({length: 1700}, (_, n) =>
      written(
        n,
        n % 10 === 0
          ? ['rare@big.test', 'news@big.test', ...(n % 20 === 0 ? ['x@second.test', 'y@second.test'] : [])]
          : ['news@big.test'],
        {
          domain_id: n % 2,
          domain: `d${n % 2}.test`,
        },
      ),
    );
    await store.transaction(async tx =>
      tx.hold.insert([...many, written(5000, ['x@small.test'], {recipients: ['news@big.test']})]),
    );
    const newest = (wanted: (n: number) => boolean) =>
      Array.from({length: 1700}, (_, n) => 1699 - n)
        .filter(wanted)
        .slice(0, 5)
        .map(n => written(n, []).queue_id);
    const found = async (filter: HoldFilter, reach: AccessScope = {kind: 'all'}) => {
      const {mails, total} = await heldQuery.list(filter, reach, {limit: 5, offset: 0});
      return [total, ...mails.map(({queue_id}) => queue_id)];
    };

    t.deepEqual(await found({from: 'big.test'}), [1700, ...newest(() => true)]);
    t.deepEqual(await found({from: 'news@big.test'}), [1700, ...newest(() => true)]);
    t.deepEqual(await found({from: 'rare@big.test'}), [170, ...newest(n => n % 10 === 0)]);
    t.deepEqual(await found({from: 'second.test'}), [85, ...newest(n => n % 20 === 0)]);
    t.deepEqual(await found({from: 'big.test', address: 'y@second.test'}), [85, ...newest(n => n % 20 === 0)]);
    t.deepEqual(await found({from: 'big.test'}, {kind: 'domain', domainId: 1}), [850, ...newest(n => n % 2 === 1)]);
    t.deepEqual(await found({from: 'big.test', domain: 'd0.test'}), [850, ...newest(n => n % 2 === 0)]);
    t.deepEqual((await found({address: 'news@big.test'}))[0], 1701);
    t.deepEqual((await found({address: 'news@big.test'}))[1], written(5000, []).queue_id);
    t.deepEqual(await found({address: 'news@big.test', from: 'rare@big.test'}), [170, ...newest(n => n % 10 === 0)]);
  },
);

const odd = (n: number): NewHeldMail =>
  storedMail({
    queue_id: `Mail${String(n).padStart(6, '0')}`,
    sender: `sender${n % 3}@from.test`,
    recipients: [`a${n % 2}@one.test`, 'b@one.test'],
    subject: oddSubjects[n % oddSubjects.length] ?? '',
    score: n,
    arrived_at: new Date(Date.UTC(2026, 2, 1, 10, 30) + n * 20 * 60_000).toISOString(),
  });

testStores('a subject is found by any part of it, whatever characters there are', async (t, {store, heldQuery: query}) => {
  await store.transaction(async tx => tx.hold.insert(Array.from({length: 30}, (_, n) => odd(n))));
  const parts = oddSubjects.flatMap(subject => {
    const characters = [...subject];
    return characters.flatMap((_, from) => [1, 2, 3, 4, 9].map(length => characters.slice(from, from + length).join('')));
  });

  for (const part of new Set([...parts, 'ÜBERWEISUNG', 'u\u0308ber', '%', '_', '\\', '"', 'OR', 'a*b', 'zzz', '100%%'])) {
    const folded = part.normalize('NFC').toLowerCase();
    const {mails, total} = await query.list({subject: part}, {kind: 'all'}, {limit: 100, offset: 0});

    const expected = Array.from({length: 30}, (_, n) => odd(n)).filter(({subject}) =>
      subject.normalize('NFC').toLowerCase().includes(folded),
    );
    t.is(total, expected.length, part);
    t.deepEqual(mails.map(({queue_id}) => queue_id).sort(), expected.map(({queue_id}) => queue_id).sort(), part);
  }
});

testStores('a subject that very many mails have is found as one that few have', async (t, {store, heldQuery: query}) => {
  const many = Array.from({length: 2000}, (_, n) => ({...odd(n), subject: n % 2 === 0 ? `Offer ${n}` : `offers of ${n}`}));
  await store.transaction(async tx => tx.hold.insert(many));

  const common = await query.list({subject: 'OFFER'}, {kind: 'all'}, {limit: 2, offset: 0});
  const rare = await query.list({subject: 'offers of 77'}, {kind: 'all'}, {limit: 2, offset: 0});

  t.is(common.total, 2000);
  t.deepEqual(
    common.mails.map(({subject}) => subject),
    ['offers of 1999', 'Offer 1998'],
  );
  t.is(rare.total, 6);
});

testStores(
  'a recipient who has very many mails gets the newest first, and all of them are counted',
  async (t, {store, heldQuery: query}) => {
    await store.transaction(async tx => tx.hold.insert(Array.from({length: 2000}, (_, n) => odd(n))));

    const {mails, total} = await query.list(
      {recipient: 'b@one.test', sender: 'sender1@from.test'},
      {kind: 'all'},
      {limit: 2, offset: 1},
    );

    t.is(total, 667);
    t.deepEqual(
      mails.map(({queue_id}) => queue_id),
      ['Mail001996', 'Mail001993'],
    );
    t.is((await query.list({recipient: 'b@one.test'}, {kind: 'all'}, {limit: 1, offset: 1999})).mails.length, 1);
  },
);

testStores('mail that has ended is not counted for its recipient', async (t, {store, heldQuery: query}) => {
  const ids = Array.from({length: 2000}, (_, n) => odd(n).queue_id);
  await store.transaction(async tx => tx.hold.insert(ids.map((_, n) => odd(n))));
  const totals = async () =>
    Promise.all(
      ['recipient', 'address'].map(
        async name => (await query.list({[name]: 'b@one.test'}, {kind: 'all'}, {limit: 1, offset: 0})).total,
      ),
    );

  const ending = {state: 'lost', at: odd(0).arrived_at, keyId: null} as const;
  await store.transaction(async tx => tx.hold.end(ids.slice(0, 300), 'held', ending));
  const afterEnd = await totals();
  for (const ended of await store.hold.findAll(ids.slice(0, 2)))
    await store.transaction(async tx => tx.hold.reopen(ended, odd(0).arrived_at));
  await store.transaction(async tx => tx.hold.strikeRecipients(ids[500] ?? '', releasedFor('b@one.test')));

  t.deepEqual(afterEnd, [1700, 1700]);
  t.deepEqual(await totals(), [1701, 1701]);
});

testStores('the total and the mails of a list are of one moment, while mail arrives', async (t, {store, heldQuery: query}) => {
  let isOver = false;
  const arrive = async (): Promise<void> => {
    for (let n = 0; n < 150; n += 1) await store.transaction(async tx => tx.hold.insert([odd(n)]));
    isOver = true;
  };
  const look = async (): Promise<void> => {
    while (!isOver)
      for (const filter of [{}, {sender: 'sender1@from.test'}]) {
        const {mails, total} = await query.list(filter, {kind: 'all'}, {limit: 1000, offset: 0});
        t.is(total, mails.length);
      }
  };

  await Promise.all([arrive(), look(), look()]);

  t.is((await query.list({}, {kind: 'all'}, {limit: 1, offset: 0})).total, 150);
});

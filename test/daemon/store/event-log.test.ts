import fc from 'fast-check';
import type {NewMailEvent, StoredMailEvent} from '../../../daemon/services/events/mail-event.ts';
import type {Store} from '../../../daemon/services/ports.ts';
import type {StoredHeldMail} from '../../../daemon/services/quarantine/stored-mail.ts';
import type {TraceFilter} from '../../../shared/hold-filter.ts';
import type {MailAuthentication} from '../../../shared/mail-authentication.ts';
import type {AccessScope} from '../../../shared/scopes.ts';
import {append, at, relayedEvent as event} from '../../helpers/mail-event.ts';
import {testStores} from '../../helpers/store-makes.ts';
import {oddSubjects, storedMail} from '../../helpers/stored-mail.ts';

const all: AccessScope = {kind: 'all'};

const found = async (
  store: Store,
  filter: TraceFilter,
  {reach = all, limit = 1000}: {reach?: AccessScope; limit?: number} = {},
) => (await store.events.find(filter, reach, {limit})).map(({queue_id}) => queue_id);

const kept = (one: StoredMailEvent | undefined) => {
  const {number, logged_by, node_id, ...entry} = one ?? ({} as StoredMailEvent);
  return entry;
};

testStores('an entry is read as it was written, whatever its text, newest first', async (t, {store, reopen}) => {
  const odd = event(1, {
    recipients: ['"odd name"@one.test', 'ünïcode@one.test'],
    from: ['"a\\"b"@two.test'],
    subject: '\u{1F4E7} 100% "sure" \\ \u0007 特別',
    message_id: 'a\'b"c@two.test',
    client: {ip: '2001:db8::1', name: null, helo: "x'; DROP TABLE mail_event", tls: true},
    reply: '250 2.0.0 Ok',
    symbols: ['A', 'B', 'C', 'D', 'E', 'F'],
  });
  await append(store, odd, event(2));

  const {store: later} = await reopen();
  const [newest, oldest] = await later.events.find({}, all, {limit: 10});

  t.is(newest?.queue_id, 'Mail1002');
  t.deepEqual(kept(oldest), {...odd, symbols: ['A', 'B', 'C', 'D', 'E'], recipient_count: 2});
});

const results = (domain: string): MailAuthentication => ({
  spf: {result: 'pass', domain},
  dkim: [{result: 'pass', domain, selector: 's'}],
  dmarc: {result: 'pass', policy: 'none', domain},
  arc: {result: 'none'},
});

testStores('what a mail says twice is read back as it was: author, name of the client, domains', async (t, {store}) => {
  const client = {ip: '192.0.2.1', tls: false};
  const events = [
    event(1, {
      sender: 'a@One.test',
      from: ['a@One.test'],
      client: {...client, name: 'mx', helo: 'mx'},
      authentication: results('One.test'),
    }),
    event(2, {
      sender: 'a@one.test',
      from: ['b@one.test'],
      client: {...client, name: null, helo: ''},
      authentication: results('two.test'),
    }),
    event(3, {sender: '', from: [''], client: {...client, name: 'mx', helo: 'MX'}, authentication: results('')}),
    event(4, {sender: 'local', from: [], client: {...client, name: '', helo: ''}, authentication: results('one.test')}),
  ];
  await append(store, ...events);

  const stored = await store.events.find({}, all, {limit: 10});

  t.deepEqual(
    stored.toReversed().map(kept),
    events.map(one => ({...one, recipient_count: 0})),
  );
});

testStores('of a thousand recipients a hundred are shown, and all are found', async (t, {store}) => {
  const recipients = Array.from({length: 1000}, (_, n) => `user${n}@one.test`);
  await append(store, event(1, {recipients}));

  const [shown] = await store.events.find({recipient: 'user999@one.test'}, all, {limit: 1});

  t.like(shown, {recipient_count: 1000, recipients: {length: 100}});
});

testStores('of a long subject the first 200 characters are shown and found', async (t, {store}) => {
  const start = `${'é'.repeat(150)} ${'\u{1F4E7}'.repeat(44)} last`;
  await append(store, event(1, {subject: `${start} beyond`}), event(2, {subject: start}));

  t.is([...start].length, 200);
  t.deepEqual(await found(store, {subject: ' last'}), ['Mail1002', 'Mail1001']);
  t.deepEqual(await found(store, {subject: 'last beyond'}), []);
  t.deepEqual(
    (await store.events.find({}, all, {limit: 10})).map(({subject}) => subject),
    [start, `${start}…`],
  );
});

testStores('a batch whose entries have many recipients is in the log as a whole, in its order', async (t, {store}) => {
  const recipients = Array.from({length: 1500}, (_, n) => `user${n}@one.test`);
  await append(store, ...Array.from({length: 12}, (_, n) => event(n, {recipients})));

  const log = await store.events.find({recipient: 'user1499@one.test'}, all, {limit: 100});

  t.deepEqual(
    log.map(({queue_id}) => queue_id),
    Array.from({length: 12}, (_, n) => `Mail${1011 - n}`),
  );
});

testStores(
  'entries are in the order of the log, also after the clock was set back, and are found by their time',
  async (t, {store}) => {
    await append(store, event(1), event(7200));
    await append(store, event(60), event(61));

    t.deepEqual(await found(store, {}), ['Mail1061', 'Mail1060', 'Mail8200', 'Mail1001']);
    t.deepEqual(await found(store, {until: at(61)}), ['Mail1060', 'Mail1001']);
    t.deepEqual(await found(store, {since: at(60), until: at(62)}), ['Mail1061', 'Mail1060']);
    t.deepEqual(await found(store, {since: at(7200)}), ['Mail8200']);
  },
);

for (const [what, filter] of [
  ['', {}],
  [', of what frequent words find together', {domain: 'one.test', event: ['relayed']}],
] satisfies [string, TraceFilter][])
  testStores(`pages follow each other without gaps and without repetition${what}`, async (t, {store}) => {
    await append(store, ...Array.from({length: 25}, (_, n) => event(Math.floor(n / 3))));
    const seen: number[] = [];
    for (let before: {number: number; logged_by: string} | undefined; ; ) {
      const page: StoredMailEvent[] = await store.events.find(filter, all, {limit: 4, ...(before && {before})});
      const last = page.at(-1);
      if (!last) break;
      seen.push(...page.map(({number}) => number));
      before = {number: last.number, logged_by: last.logged_by ?? ''};
    }
    t.is(new Set(seen).size, 25);
    t.deepEqual(
      seen,
      seen.toSorted((a, b) => b - a),
    );
  });

testStores(
  'entries are read by their numbers, oldest first, without those that are gone or another node wrote',
  async (t, {store}) => {
    await append(store, event(1), event(2), event(3));
    const [third, second, first] = await store.events.find({}, all, {limit: 3});
    const numbers = [third?.number ?? 0, 5, first?.number ?? 0];
    const writer = second?.logged_by ?? 'alpha';

    t.deepEqual(await store.events.ofNumbers(writer, numbers), [first, third]);
    t.deepEqual(await store.events.ofNumbers(writer, []), []);
    if (second?.logged_by !== undefined) t.deepEqual(await store.events.ofNumbers('beta', numbers), []);
  },
);

testStores('a key finds what belongs to its domains, and nothing else, whatever it asks for', async (t, {store}) => {
  await append(store, event(1), event(2, {domain: 'two.test', domain_id: 2}), event(3, {domain: null, domain_id: null}));

  t.deepEqual(await found(store, {}, {reach: {kind: 'domain', domainId: 2}}), ['Mail1002']);
  t.deepEqual(await found(store, {}, {reach: {kind: 'domains', domainIds: [1, 2]}}), ['Mail1002', 'Mail1001']);
  t.deepEqual(await found(store, {queue_id: 'Mail1001'}, {reach: {kind: 'domain', domainId: 2}}), []);
  t.deepEqual(await found(store, {}, {reach: {kind: 'none'}}), []);
  t.deepEqual(await found(store, {domain: 'two.test'}, {reach: {kind: 'domain', domainId: 1}}), []);
});

testStores('the oldest entries go, by time and by number, and are not found any more', async (t, {store}) => {
  await append(store, ...Array.from({length: 10}, (_, n) => event(n, {sender: 'a@b.test'})));
  const forget = async (oldest: {before: string; surplus: number; limit: number}) =>
    store.transaction(async tx => tx.events.forget(oldest));

  t.is(await forget({before: at(5), surplus: 0, limit: 3}), 3);
  t.is(await forget({before: at(5), surplus: 0, limit: 100}), 2);
  t.is(await forget({before: at(5), surplus: 0, limit: 100}), 0);
  t.is(await store.events.count(), 5);
  t.is(await forget({before: at(0), surplus: 2, limit: 100}), 2);
  t.deepEqual(await found(store, {sender: 'a@b.test'}), ['Mail1009', 'Mail1008', 'Mail1007']);
  t.is(await store.events.count(), 3);
});

const held = (n: number) =>
  storedMail({queue_id: `Held${100 + n}`, arrived_at: at(n), subject: `mail ${n}`, score: n, recipients: ['x@one.test']});

testStores('what changes held mail is in the log with it, or not at all', async (t, {store}) => {
  await store.transaction(async tx => tx.hold.insert([held(1), held(2)]));
  await store.transaction(async tx => tx.hold.insert([held(1)]));
  await store.transaction(async tx => tx.hold.end([held(1).queue_id], 'held', {state: 'discarded', at: at(50), keyId: 7}));
  await store.transaction(async tx => tx.hold.end([held(1).queue_id], 'held', {state: 'discarded', at: at(51), keyId: 8}));
  await store.transaction(async tx => tx.hold.end([held(2).queue_id], 'held', {state: 'lost', at: at(52), keyId: null}));
  const lost = (await store.hold.find(held(2).queue_id)) as StoredHeldMail;
  await store.transaction(async tx => tx.hold.reopen(lost, at(53)));
  await t.throwsAsync(
    store.transaction(async tx => {
      await tx.hold.end([held(2).queue_id], 'held', {state: 'expired', at: at(54), keyId: null});
      throw new Error('rolled back');
    }),
  );
  await store.transaction(async tx => tx.hold.insert([held(3)], 'moved'));

  const log = (await store.events.find({recipient: 'x@one.test'}, all, {limit: 100})).reverse();
  t.deepEqual(
    log.map(entry => [entry.event, entry.queue_id, entry.at, entry.key_id]),
    [
      ['held', held(1).queue_id, at(1), null],
      ['held', held(2).queue_id, at(2), null],
      ['discarded', held(1).queue_id, at(50), 7],
      ['lost', held(2).queue_id, at(52), null],
      ['held', held(2).queue_id, at(53), null],
    ],
  );
});

const texts = ['a@one.test', 'B@two.test', 'c@three.test', ''];
const madeUp = fc.record({
  event: fc.constantFrom('relayed', 'refused', 'deferred'),
  sender: fc.constantFrom(...texts),
  from: fc.option(fc.subarray(['a@one.test', 'b@two.test'])),
  recipients: fc.subarray(['a@one.test', 'C@three.test', 'd@one.test'], {minLength: 1}),
  subject: fc.option(fc.constantFrom(...oddSubjects)),
  message_id: fc.option(fc.constantFrom('1@x', '2@x')),
  client: fc.option(fc.constantFrom('192.0.2.1', '2001:db8::1').map(ip => ({ip, name: null, helo: 'x', tls: null}))),
}) as fc.Arbitrary<Partial<NewMailEvent>>;

const lower = (text: string) => text.toLowerCase();
const searches: [TraceFilter, (one: NewMailEvent) => boolean][] = [
  [{recipient: 'c@three.test'}, one => one.recipients.map(lower).includes('c@three.test')],
  [{sender: 'b@two.test'}, one => lower(one.sender) === 'b@two.test'],
  [{sender: ''}, one => one.sender === ''],
  [{sender: 'two.test'}, one => one.sender.endsWith('@two.test')],
  [{from: 'two.test'}, one => one.from?.includes('b@two.test') ?? false],
  [{from: 'a@one.test'}, one => one.from?.includes('a@one.test') ?? false],
  [
    {address: 'a@one.test'},
    one => [one.sender, ...(one.from ?? []), ...one.recipients].some(address => lower(address) === 'a@one.test'),
  ],
  [{message_id: '2@x'}, one => one.message_id === '2@x'],
  [{client: '2001:db8::1'}, one => one.client?.ip === '2001:db8::1'],
  [{event: ['refused', 'deferred']}, one => one.event !== 'relayed'],
  [{event: ['refused'], sender: 'two.test'}, one => one.event === 'refused' && one.sender.endsWith('@two.test')],
  ...['weis', 'ÜBER', '0% s', 'x', 'a_b', '"quoted" \\', 'voice 47', 'фактура', '特別な', 'ab'].map(
    (subject): [TraceFilter, (one: NewMailEvent) => boolean] => [
      {subject},
      one => lower(one.subject ?? '').includes(lower(subject)),
    ],
  ),
];

testStores('each filter finds exactly its matches', async (t, {store}) => {
  await fc.assert(
    fc.asyncProperty(fc.array(madeUp, {minLength: 1, maxLength: 20}), async made => {
      await store.transaction(async tx => tx.events.forget({before: at(1_000_000), surplus: 1000, limit: 1000}));
      const events = made.map((fields, n) => event(n, fields));
      await append(store, ...events);
      for (const [filter, matches] of searches) {
        const wanted = events.filter(matches).map(({queue_id}) => queue_id);
        t.deepEqual(await found(store, filter), wanted.reverse(), JSON.stringify(filter));
      }
    }),
    {numRuns: 30},
  );
});

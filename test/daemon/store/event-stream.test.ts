import type {ExecutionContext} from 'ava';
import {type EventChoice, type EventPage, placeAt} from '../../../daemon/services/events/mail-event.ts';
import type {Store} from '../../../daemon/services/ports.ts';
import {mailEvents} from '../../../shared/mail-event-name.ts';
import {eventually} from '../../helpers/eventually.ts';
import {append, at, relayedEvent as event, start} from '../../helpers/mail-event.ts';
import {pause} from '../../helpers/pause.ts';
import {testStores} from '../../helpers/store-makes.ts';

const forget = async (store: Store, before: number) =>
  store.transaction(async tx => tx.events.forget({before: at(before), surplus: 0, limit: 1000}));

/** Other tests have transactions on a PostgreSQL, too: the log ends before the oldest of them. */
const follow = async (store: Store, after: string | undefined, choice: Partial<EventChoice> = {}): Promise<EventPage> =>
  eventually(async () => {
    const page = await store.events.follow(after, {events: mailEvents, reach: {kind: 'all'}, limit: 100, ...choice});
    return page.isWaiting ? undefined : page;
  });

const ids = ({entries}: EventPage) => entries.map(({entry}) => entry.queue_id);

/** Its place is the end of the log: what comes next follows it, without a gap. */
const assertGap = async (t: ExecutionContext, store: Store, page: EventPage) => {
  t.like(page, {entries: {length: 0}, isGap: true, hasMore: false, isWaiting: false});
  await assertEnd(t, store, page.place);
};

const assertEnd = async (t: ExecutionContext, store: Store, place: string) => {
  const {place: next, ...page} = await follow(store, place);
  t.deepEqual(page, {entries: [], hasRead: false, last: undefined, isGap: false, hasMore: false, isWaiting: false});
  t.not(next, place, 'it would tell that the log has not grown');
};

testStores('what was logged after a place comes once, in the order of the log, in pages', async (t, {store}) => {
  await append(store, event(1));
  const {place: end} = await follow(store, undefined);
  // The clock is set back.
  for (const seconds of [9, 3, 5, 4, 12]) await append(store, event(seconds));

  const seen: (string | null)[] = [];
  for (let place = end; ; ) {
    const page = await follow(store, place, {limit: 2});
    seen.push(...ids(page));
    place = page.place;
    if (!page.hasMore) break;
  }

  t.deepEqual(seen, ['Mail1009', 'Mail1003', 'Mail1005', 'Mail1004', 'Mail1012']);
});

testStores('each entry has the place after it', async (t, {store}) => {
  const {place: end} = await follow(store, undefined);
  await append(store, event(1), event(2), event(3));

  const {entries, place} = await follow(store, end);

  t.deepEqual(ids(await follow(store, entries[0]?.place)), ['Mail1002', 'Mail1003']);
  t.deepEqual(ids(await follow(store, entries[1]?.place)), ['Mail1003']);
  for (const last of [entries[2]?.place, place]) await assertEnd(t, store, last ?? '');
});

testStores('only what is asked for comes, of the domains of the key, and the place goes on over the rest', async (t, {store}) => {
  const {place: end} = await follow(store, undefined);
  await append(
    store,
    event(1, {event: 'held'}),
    event(2, {event: 'held', domain_id: 2}),
    event(3, {domain_id: 2}),
    event(4, {event: 'held', domain_id: null}),
    event(5),
  );
  const cases: [Partial<EventChoice>, string[]][] = [
    [{events: ['held']}, ['Mail1001', 'Mail1002', 'Mail1004']],
    [{reach: {kind: 'domain', domainId: 2}}, ['Mail1002', 'Mail1003']],
    [{reach: {kind: 'domains', domainIds: [1, 2]}, events: ['held']}, ['Mail1001', 'Mail1002']],
    [{reach: {kind: 'none'}}, []],
    [{events: []}, []],
  ];
  for (const [choice, wanted] of cases) {
    const page = await follow(store, end, choice);
    t.deepEqual(ids(page), wanted, JSON.stringify(choice));
    await assertEnd(t, store, page.place);
  }
});

testStores('a place after which entries are gone is a gap, and one after which all are there is not', async (t, {store}) => {
  await append(store, ...Array.from({length: 6}, (_, n) => event(n)));
  const {entries, place: end} = await follow(store, placeAt(0));

  await forget(store, 3);

  await assertGap(t, store, await follow(store, entries[1]?.place));
  t.deepEqual(ids(await follow(store, entries[2]?.place)), ['Mail1003', 'Mail1004', 'Mail1005']);
  t.deepEqual(ids(await follow(store, entries[3]?.place)), ['Mail1004', 'Mail1005']);

  await forget(store, 100);
  await assertEnd(t, store, end);
  await assertEnd(t, store, (await follow(store, undefined)).place);
});

testStores('a place of another log, of a later one, or a damaged one is a gap', async (t, {store, reopen}) => {
  await append(store, event(1), event(2));
  const {place: end} = await follow(store, undefined);
  const bytes = Buffer.from(end, 'base64url');
  const bent = Array.from(bytes, (byte, at) =>
    Buffer.from(bytes)
      .fill(byte ^ 1, at, at + 1)
      .toString('base64url'),
  );

  const strange = [...bent, end.slice(0, -4), 'A'.repeat(end.length), '', '@', '@zzzzzzzzzzzzzzzzz', "' OR 1 --"];
  for (const place of strange) await assertGap(t, store, await follow(store, place));
  const {store: later} = await reopen();
  t.false((await follow(later, end)).isGap);
});

testStores('a place tells nothing of its log, not even whether it has grown', async (t, {store}) => {
  await append(store, event(1));

  const [one, other] = [(await follow(store, undefined)).place, (await follow(store, undefined)).place];

  t.not(one, other);
  t.is(one.length, other.length);
  for (const place of [one, other]) await assertEnd(t, store, place);
});

testStores('half a character or a zero in any text of an entry keeps nobody from reading on', async (t, {store}) => {
  const {place: end} = await follow(store, undefined);
  const odd = `a\ud83d\0b\udcffc`;
  await append(
    store,
    event(1, {sender: odd, recipients: [odd], from: [odd], subject: odd, message_id: odd, reply: odd, server: odd, detail: odd}),
    event(2, {client: {ip: odd, name: odd, helo: odd, tls: null}, symbols: [odd], queue_id: odd, domain: odd}),
    event(3),
  );

  const {entries} = await follow(store, end);

  t.is(entries.length, 3);
  t.like(entries[0]?.entry, {sender: 'a\ufffd\ufffdb\ufffdc', detail: 'a\ufffd\ufffdb\ufffdc'});
  t.deepEqual(ids(await follow(store, end, {reach: {kind: 'domain', domainId: 1}})).length, 3);
});

testStores('a time is a place: what was logged later comes, also when the oldest of it is gone', async (t, {store}) => {
  t.is((await follow(store, placeAt(start))).entries.length, 0);
  await append(store, event(1));
  await pause(2);
  const between = Date.now();
  await pause(2);
  for (const seconds of [2, 3]) await append(store, event(seconds));

  t.deepEqual(ids(await follow(store, placeAt(between))), ['Mail1002', 'Mail1003']);
  t.deepEqual(ids(await follow(store, placeAt(Date.now() + 5000))), []);
  await forget(store, 3);
  t.deepEqual(ids(await follow(store, placeAt(0))), ['Mail1003']);
});

testStores('mail that is found once more is logged after all that was logged before, whenever it came', async (t, {store}) => {
  const before = Date.now() * 1000;

  await append(store, event(1));

  const [found] = await store.events.find({}, {kind: 'all'}, {limit: 1});
  t.true((found?.number ?? 0) >= before);
  t.is(found?.at, at(1));
});

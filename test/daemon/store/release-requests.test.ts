// What recipients have asked administrators for.
import {testStores} from '../../helpers/store-makes.ts';
import {releasedFor, storedMail} from '../../helpers/stored-mail.ts';

const at = (hour: number): string => `2026-03-02T${String(hour).padStart(2, '0')}:00:00.000Z`;
const mail = (n: number) =>
  storedMail({
    queue_id: `mail00000${n}`,
    arrived_at: at(n),
    subject: `number ${n}`,
    score: 7,
    recipients: ['a@one.test', 'b@one.test'],
  });
const request = (n: number, address = 'a@one.test', hour = 12) => ({
  queue_id: `mail00000${n}`,
  address,
  requested_at: at(hour),
});
const page = {limit: 10, offset: 0};

testStores('a mail is asked for once by each recipient, while it is held for him', async (t, {store}) => {
  const ask = async (...given: Parameters<typeof request>) => store.transaction(async tx => tx.hold.request(request(...given)));
  await store.transaction(async tx => {
    await tx.hold.insert([mail(1), mail(2), mail(3)]);
    await tx.hold.end(['mail000003'], 'held', {state: 'discarded', at: at(9), keyId: null});
  });

  t.true(await ask(1));
  t.false(await ask(1, 'a@one.test', 13));
  t.true(await ask(1, 'b@one.test', 13));
  t.false(await ask(1, 'c@one.test'), 'no recipient');
  t.false(await ask(3), 'not held');
  t.false(await ask(4), 'no mail');

  t.deepEqual(await store.hold.requests(['mail000001', 'mail000002', 'mail000003']), [request(1), request(1, 'b@one.test', 13)]);
  const found = await store.events.find({event: ['release_requested']}, {kind: 'all'}, {limit: 10});
  t.deepEqual(
    found.map(({queue_id, recipients, key_id, at: when}) => ({queue_id, recipients, key_id, when})),
    [
      {queue_id: 'mail000001', recipients: ['b@one.test'], key_id: 0, when: at(13)},
      {queue_id: 'mail000001', recipients: ['a@one.test'], key_id: 0, when: at(12)},
    ],
  );
});

testStores('what was asked for is listed as such until it is held for none of those who did', async (t, {store, heldQuery}) => {
  await store.transaction(async tx => {
    await tx.hold.insert([mail(1), mail(2), mail(3)]);
    for (const one of [request(1), request(2), request(3), request(3, 'b@one.test')]) await tx.hold.request(one);
  });
  const requested = async () => {
    const {mails, total} = await heldQuery.list({requested: true}, {kind: 'all'}, page);
    t.is(total, mails.length);
    t.true(mails.every(({release_requested}) => release_requested));
    return mails.map(({queue_id}) => queue_id);
  };

  t.deepEqual(await requested(), ['mail000003', 'mail000002', 'mail000001']);
  await store.transaction(async tx => {
    await tx.hold.strikeRecipients('mail000001', releasedFor('a@one.test'));
    await tx.hold.strikeRecipients('mail000003', releasedFor('a@one.test'));
    await tx.hold.end(['mail000002'], 'held', {state: 'discarded', at: at(9), keyId: null});
  });
  t.deepEqual(await requested(), ['mail000003']);
  const all = await heldQuery.list({}, {kind: 'all'}, page);
  t.deepEqual(
    all.mails.map(({queue_id, release_requested}) => [queue_id, release_requested]),
    [
      ['mail000003', true],
      ['mail000001', false],
    ],
  );
  t.like((await heldQuery.groups({requested: true}, {kind: 'all'}))[0], {
    ...{domain: 'one.test', reason: 'spam', count: 1, size_bytes: 100, oldest_arrived_at: at(3)},
  });
  t.deepEqual((await heldQuery.list({requested: true}, {kind: 'domain', domainId: 2}, page)).mails, []);
});

testStores('requests from another store are no events, and go with their mail', async (t, {store}) => {
  await store.transaction(async tx => {
    await tx.hold.insert([mail(1)]);
    await tx.hold.restoreRequests([request(1), request(1)]);
    await tx.hold.restoreRequests([request(1)]);
    await tx.hold.restoreRequests([]);
  });
  t.deepEqual(await store.hold.requests(['mail000001']), [request(1)]);
  t.deepEqual(await store.events.find({event: ['release_requested']}, {kind: 'all'}, {limit: 10}), []);
  await store.transaction(async tx => tx.hold.forget('mail000001'));
  t.deepEqual(await store.hold.requests(['mail000001']), []);
});

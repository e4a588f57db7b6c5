import {unjudgedSymbols} from '../../../daemon/services/quarantine/stored-mail.ts';
import type {RoundHolder, Settlement} from '../../../daemon/services/recipients/digest-store.ts';
import {testStores} from '../../helpers/store-makes.ts';
import {releasedFor, storedMail} from '../../helpers/stored-mail.ts';

const day = (n: number, time = '09:00'): string => `2026-03-${String(n).padStart(2, '0')}T${time}:00.000Z`;
const round = {domain_id: 1, due_at: day(10)};
const mail = (n: number, fields: Partial<Parameters<typeof storedMail>[0]> = {}) =>
  storedMail({queue_id: `mail00000${n}`, arrived_at: day(9, `0${n}:00`), subject: `number ${n}`, score: 7, ...fields});
const entry = (n: number, address = 'a@one.test', mailbox = address) => ({queue_id: `mail00000${n}`, address, mailbox});
const choice = {reasons: ['spam'], since: day(1), after: undefined, limit: 100};

const at = (minute: number): number => Date.parse(day(10)) + minute * 60_000;
const by = (holder: string, minute: number): RoundHolder => ({holder, now: at(minute), heldMs: 60_000});

testStores('a domain has one sender at a time, until he is silent or it is over', async (t, {store}) => {
  const take = async (holder: string, minute: number, of = round) =>
    store.transaction(async tx => tx.digests.take(of, by(holder, minute)));
  const later = {...round, due_at: day(11)};

  t.is(await take('alpha', 0), 'taken');
  t.is(await take('beta', 0.5), 'elsewhere');
  t.is(await take('beta', 0.5, {...round, due_at: new Date(at(0.5)).toISOString()}), 'elsewhere', 'another round');
  t.is(await take('beta', 0.5, {domain_id: 2, due_at: day(10)}), 'taken', 'another domain');
  t.is(await take('alpha', 0.9), 'taken');
  t.is(await take('beta', 1.5), 'elsewhere', 'alpha has asked again');
  t.is(await take('beta', 2), 'taken');
  t.is(await take('alpha', 2.5), 'elsewhere');
  await store.transaction(async tx => tx.digests.close(round));
  t.is(await take('alpha', 9), 'over');
  t.is(await take('alpha', 24 * 60, later), 'taken');
  t.is(await take('beta', 24 * 60 + 0.5), 'elsewhere', 'an earlier one');
  t.is(await take('beta', 24 * 60 + 2), 'taken', 'which goes on with the later one');
  t.is(await take('alpha', 24 * 60 + 4, later), 'taken');
  await store.transaction(async tx => tx.digests.close(later));
  t.is(await take('gamma', 24 * 60 + 5.5), 'over');
  t.is(await take('gamma', 24 * 60 + 5.5, later), 'over');
});

testStores('a sender whose clock was ahead does not have a domain for good', async (t, {store}) => {
  const take = async (holder: string, minute: number, of = round) =>
    store.transaction(async tx => tx.digests.take(of, by(holder, minute)));
  const ahead = {...round, due_at: day(20)};

  t.is(await take('alpha', 1000, ahead), 'taken');
  t.is(await take('beta', 0), 'taken');
  t.is(await take('alpha', 14_400, ahead), 'taken');
  await store.transaction(async tx => tx.digests.close(ahead));
  t.is(await take('beta', 1), 'taken');
});

testStores('what is listed is inbound mail of the domain that is held, came in time, and is in no digest', async (t, {store}) => {
  const other = {
    1: {},
    2: {reason: 'phishing'},
    3: {domain_id: 2},
    4: {direction: 'outbound'},
    5: {arrived_at: day(10, '09:01')},
    6: {arrived_at: day(1, '00:00')},
    7: {},
    8: {},
    9: {},
  } as const;
  await store.transaction(async tx => {
    await tx.hold.insert(Object.entries(other).map(([n, fields]) => mail(Number(n), fields)));
    await tx.digests.add(1, [entry(8)]);
    await tx.hold.end([mail(7).queue_id], 'held', {state: 'discarded', at: day(9), keyId: null});
  });
  const ids = async (given: Partial<typeof choice> & {recipientText?: string} = {}) =>
    (await store.digests.unlisted(round, {...choice, ...given})).map(({queue_id}) => queue_id);

  t.deepEqual(await ids(), ['mail000001', 'mail000009']);
  t.deepEqual(await ids({reasons: ['spam', 'phishing']}), ['mail000001', 'mail000002', 'mail000009']);
  t.deepEqual(await ids({reasons: []}), []);
  const [first] = await store.digests.unlisted(round, {...choice, limit: 1});
  t.deepEqual(await store.digests.unlisted(round, {...choice, after: first as never}), [
    {
      ...{queue_id: 'mail000009', arrived_at: day(9, '09:00'), recipients: ['a@one.test']},
      ...{sender: 'sender@from.test', from: ['author@from.test']},
    },
  ]);
  t.deepEqual(await ids({recipientText: 'nobody'}), []);
  t.deepEqual(await ids({recipientText: 'a'}), ['mail000001', 'mail000009']);
});

testStores('mailboxes come in the order of their bytes, each with its mail, the earliest first', async (t, {store}) => {
  const names = ['z@one.test', 'ä@one.test', '\u{1f600}@one.test', '\uffee@one.test', 'a@one.test'];
  const inOrder = names.toSorted((one, two) => Buffer.compare(Buffer.from(one), Buffer.from(two)));
  const recipients = [...names, 'a+tag@one.test'];
  await store.transaction(async tx => {
    await tx.hold.insert([mail(1, {recipients}), mail(2, {recipients: ['a@one.test']})]);
    await tx.digests.add(1, [
      ...names.map(name => entry(1, name)),
      entry(1, 'a+tag@one.test', 'a@one.test'),
      entry(2),
      // Once more, as after a kill.
      entry(2),
      // Of a mail that was forgotten meanwhile.
      entry(9),
    ]);
  });

  t.deepEqual(await store.digests.waiting(1, {after: '', limit: 100}), inOrder);
  t.deepEqual(await store.digests.waiting(1, {after: inOrder[1] ?? '', limit: 2}), inOrder.slice(2, 4));
  t.deepEqual(await store.digests.waiting(2, {after: '', limit: 9}), []);
  const found = await store.digests.waitingFor(1, ['a@one.test', 'z@one.test'], 100);
  t.deepEqual(
    found.map(({queue_id, address, mailbox}) => [queue_id, address, mailbox]),
    [
      ['mail000001', 'a+tag@one.test', 'a@one.test'],
      ['mail000002', 'a@one.test', 'a@one.test'],
      ['mail000001', 'a@one.test', 'a@one.test'],
      ['mail000001', 'z@one.test', 'z@one.test'],
    ],
  );
  t.like(found[1], {
    digest_id: null,
    waiting_count: 3,
    mail: {sender: 'sender@from.test', from: ['author@from.test'], subject: 'number 2', reason: 'spam', is_for_recipients: true},
  });
  const limited = await store.digests.waitingFor(1, ['a@one.test', 'z@one.test'], 1);
  t.deepEqual(
    limited.map(({address, waiting_count}) => [address, waiting_count]),
    [
      ['a+tag@one.test', 3],
      ['z@one.test', 1],
    ],
  );
});

testStores('what was released or discarded for a recipient is in no digest for him', async (t, {store}) => {
  const [ann, ben] = ['ann@one.test', 'ben@one.test'];
  await store.transaction(async tx => {
    await tx.hold.insert([mail(1, {recipients: [ann, ben], keeper: 'postfix'}), mail(2, {recipients: [ann]})]);
    await tx.hold.insert([mail(3, {recipients: [ben], keeper: 'postfix', symbol_scores: unjudgedSymbols})]);
    await tx.digests.add(1, [entry(1, ann), entry(1, ben), entry(2, ann), entry(3, ben)]);
  });
  t.deepEqual(
    (await store.digests.waitingFor(1, [ann, ben], 9)).map(({mail: of}) => of?.is_for_recipients),
    [false, true, false, false],
  );
  await store.transaction(async tx => {
    await tx.hold.strikeRecipients(mail(1).queue_id, releasedFor(ann));
    await tx.hold.end([mail(2).queue_id], 'held', {state: 'discarded', at: day(10), keyId: null});
  });

  const found = await store.digests.waitingFor(1, [ann, ben], 9);
  t.deepEqual(
    found.flatMap(({address, mail: of}) => (of ? [address] : [])),
    [ben, ben],
  );
  await store.transaction(async tx => tx.digests.dropEnded(1, [ann, ben]));
  t.is((await store.digests.waitingFor(1, [ann, ben], 9)).length, 3, 'the mail that is held for others stays');
  await store.transaction(async tx => tx.digests.drop([entry(1, ann)]));
  t.deepEqual(await store.digests.waiting(1, {after: '', limit: 9}), [ben]);
});

testStores('a digest is settled by its id; what had no place in it is for the next round', async (t, {store}) => {
  const [sent, refused, left, full] = ['sent@one.test', 'refused@one.test', 'left@one.test', 'full@one.test'];
  const addresses = [sent, refused, left, full];
  const later = {...round, due_at: day(11)};
  const put = (n: number, address: string, id: string) => ({...entry(n, address), digest_id: id});
  await store.transaction(async tx => {
    await tx.digests.take(round, by('alpha', 0));
    await tx.hold.insert([...addresses.map((address, n) => mail(n, {recipients: [address]})), mail(4, {recipients: [full]})]);
    await tx.digests.add(1, [...addresses.map((address, n) => entry(n, address)), entry(4, full)]);
    await tx.digests.putInto([put(0, sent, 's'), put(1, refused, 'r'), put(2, left, 'l'), put(3, full, 'f')]);
  });
  const ids = async () =>
    (await store.digests.waitingFor(1, addresses, 9)).map(({mailbox, digest_id}) => `${mailbox} ${digest_id}`);
  const settle = async (served: string[], ...some: [string, string, Settlement['state']][]) =>
    store.transaction(async tx =>
      tx.digests.settle(
        1,
        some.map(([mailbox, digest_id, state]) => ({mailbox, digest_id, state})),
        served,
      ),
    );

  await settle([sent, refused, full], [sent, 's', 'sent'], [refused, 'r', 'later'], [full, 'f', 'resent'], [left, 'x', 'sent']);
  t.deepEqual(await ids(), [`${left} l`], 'the rest of who was served is for later');
  t.deepEqual(await store.digests.resentAmong(1, ['s', 'r', 'f', 'l', 'x']), ['f']);
  await settle([], [left, 'l', 'apart']);
  t.deepEqual(await ids(), [`${left} null`]);
  await store.transaction(async tx => tx.digests.take(round, by('alpha', 1)));
  t.deepEqual(await ids(), [`${left} null`], 'the same round');
  await store.transaction(async tx => tx.digests.take(later, by('alpha', 2)));
  t.deepEqual(await ids(), [`${full} null`, `${left} null`, `${refused} r`]);
  t.deepEqual(await store.digests.unlisted(later, choice), []);
});

testStores('the links of a digest that was surely not delivered are gone', async (t, {store}) => {
  const link = (hash: string, digest_id: string) => ({
    ...{hash, queue_id: mail(1).queue_id, address: 'a@one.test', made_at: day(10), digest_id},
  });
  const hashes = async () => (await store.digests.ofMails([mail(1).queue_id])).links.map(({hash}) => hash).toSorted();
  const tryWith = async (id: string, hash: string) =>
    store.transaction(async tx => {
      await tx.digests.putInto([{...entry(1), digest_id: id}]);
      await tx.digests.addLinks([link(hash, id)]);
    });
  const settle = async (digest_id: string, state: Settlement['state']) =>
    store.transaction(async tx => tx.digests.settle(1, [{mailbox: 'a@one.test', digest_id, state}], []));
  await store.transaction(async tx => {
    await tx.hold.insert([mail(1)]);
    await tx.digests.add(1, [entry(1)]);
  });
  await tryWith('one', 'h1');
  await settle('one', 'apart');
  await tryWith('two', 'h2');
  t.deepEqual(await hashes(), ['h1', 'h2']);
  await settle('two', 'unsent');
  t.deepEqual(await hashes(), ['h1']);
  await store.transaction(async tx => tx.digests.addLinks([{...link('h9', 'nine'), queue_id: mail(9).queue_id}]));
  t.is(await store.digests.link('h9'), undefined, 'of a mail that was forgotten');
  t.like(await store.digests.link('h1'), {queue_id: mail(1).queue_id, address: 'a@one.test'});
});

testStores('entries and links go with their mail', async (t, {store}) => {
  const link = {hash: 'h', queue_id: mail(1).queue_id, address: 'a@one.test', made_at: day(10), digest_id: 'a'};
  await store.transaction(async tx => {
    await tx.hold.insert([mail(1)]);
    await tx.digests.add(1, [entry(1)]);
    await tx.digests.addLinks([link]);
  });

  await store.transaction(async tx => tx.hold.forget(mail(1).queue_id));

  t.deepEqual(await store.digests.waiting(1, {after: '', limit: 9}), []);
  await store.transaction(async tx => {
    await tx.hold.insert([mail(1)]);
    await tx.digests.addLinks([link]);
  });
});

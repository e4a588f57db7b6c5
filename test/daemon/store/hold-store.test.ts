import fc from 'fast-check';
import type {Store, StoreTransaction} from '../../../daemon/services/ports.ts';
import {
  type HeldCount,
  isHeld,
  type NewHeldMail,
  type RecipientAct,
  type StoredHeldMail,
  unjudgedSymbols,
} from '../../../daemon/services/quarantine/stored-mail.ts';
import {reasons} from '../../../shared/reason.ts';
import {testStores} from '../../helpers/store-makes.ts';
import {storedMail} from '../../helpers/stored-mail.ts';

const start = Date.UTC(2026, 2, 1);
const at = (seconds: number) => new Date(start + seconds * 1000).toISOString();

const mail = (n: number, fields: Partial<NewHeldMail> = {}): NewHeldMail =>
  storedMail({queue_id: `Mail${100 + n}`, arrived_at: at(n), subject: `mail ${n}`, score: n, size_bytes: 100 + n, ...fields});

const idOf = (n: number) => mail(n).queue_id;
const discarded = {state: 'discarded', at: at(100), keyId: 7} as const;

const insert = async (store: Store, ...mails: NewHeldMail[]) => store.transaction(async tx => tx.hold.insert(mails));
const stateOf = async (store: Store, n: number) => (await store.hold.find(idOf(n)))?.state;

testStores(
  'a mail is found as it was inserted, whatever its text, and inserting it again changes nothing',
  async (t, {store, reopen}) => {
    const odd = mail(1, {
      sender: '',
      recipients: ['"odd name"@one.test', 'ünïcode@one.test'],
      subject: '\u{1F4E7} 100% "sure" \\ \u0007 特別',
      score: -0.25,
      symbol_scores: [{name: 'A_B', score: 1.5}],
      is_utf8: true,
      is_eight_bit: true,
      helo: '[192.0.2.1]',
      sha256: 'a'.repeat(64),
    });
    await insert(store, odd);
    await insert(store, {...odd, subject: 'another'}, mail(2), mail(2, {subject: 'a second one'}));

    const {store: later} = await reopen();

    t.like(await later.hold.find(idOf(1)), {...odd, state: 'held', acted_at: null, acted_by_key_id: null});
    t.is((await later.hold.find(idOf(2)))?.subject, 'mail 2');
    t.is(await later.hold.find(idOf(3)), undefined);
    t.deepEqual((await later.hold.findAll([idOf(2), idOf(3), idOf(1)])).map(({queue_id}) => queue_id).sort(), [idOf(1), idOf(2)]);
  },
);

testStores('a transaction that fails leaves nothing, and its reads see its own writes', async (t, {store}) => {
  const failed = new Error('failed');

  const work = store.transaction(async tx => {
    await tx.hold.insert([mail(1)]);
    t.is((await tx.hold.find(idOf(1)))?.state, 'held');
    throw failed;
  });

  t.is(await t.throwsAsync(work), failed);
  t.is(await store.hold.find(idOf(1)), undefined);
  t.deepEqual(await store.hold.counts(), []);
});

testStores('exactly one of many callers claims a mail, and it can be given back', async (t, {store}) => {
  await insert(store, mail(1), mail(2));
  const claim = async (keyId: number) =>
    store.transaction(async tx => tx.hold.claim([idOf(1), idOf(2), idOf(3)], {state: 'releasing', keyId}));

  const claims = await Promise.all(Array.from({length: 8}, async (_, keyId) => claim(keyId)));

  t.deepEqual(claims.flatMap(claimed => [...claimed]).sort(), [
    [idOf(1), mail(1).recipients],
    [idOf(2), mail(2).recipients],
  ]);
  t.deepEqual((await store.hold.listClaimed('spool')).sort(), [idOf(1), idOf(2)]);
  t.deepEqual(await store.hold.listClaimed('postfix'), []);
  await store.transaction(async tx => tx.hold.unclaim([idOf(1)]));
  t.like(await store.hold.find(idOf(1)), {state: 'held', acted_by_key_id: null});
  t.deepEqual(await store.hold.listClaimed('spool'), [idOf(2)]);
});

testStores('a mail ends from the state that it is in, once, and is known afterwards', async (t, {store}) => {
  await insert(store, mail(1), mail(2));
  await store.transaction(async tx => tx.hold.claim([idOf(2)], {state: 'releasing', keyId: 8}));
  const end = async (from: 'held' | 'releasing') =>
    store.transaction(async tx => [...(await tx.hold.end([idOf(1), idOf(2), idOf(3)], from, discarded))]);

  t.deepEqual(await end('held'), [idOf(1)]);
  t.deepEqual(await end('held'), []);
  t.deepEqual(await end('releasing'), [idOf(2)]);

  t.like(await store.hold.find(idOf(1)), {state: 'discarded', acted_at: discarded.at, acted_by_key_id: 7});
  t.deepEqual(await store.hold.counts(), []);
  t.is(await store.hold.countHeldBy('spool'), 0);
});

testStores('an ended mail is held again when its bytes reappear, unless something else happened to it', async (t, {store}) => {
  await insert(store, mail(1));
  await store.transaction(async tx => tx.hold.end([idOf(1)], 'held', {...discarded, state: 'lost'}));
  const lost = (await store.hold.find(idOf(1))) as StoredHeldMail;
  const reopen = async () => store.transaction(async tx => tx.hold.reopen(lost, at(200)));

  t.deepEqual([await reopen(), await reopen()], [true, false]);
  t.like(await store.hold.find(idOf(1)), {state: 'held', acted_at: null, acted_by_key_id: null});
  t.like(await store.hold.counts(), {0: {count: 1, size_bytes: 101}, length: 1});
});

testStores(
  'a mail ends for recipients, each once, what was done for each is kept, and the last are left to the end',
  async (t, {store, heldQuery}) => {
    await insert(store, mail(1, {recipients: ['A@one.test', 'b@one.test', 'c@one.test']}), mail(2));
    const released = {state: 'released', at: at(5), keyId: 5, delivered: {reply: '250 Ok', server: 'x:25'}} as const;
    const endFor = async (...addresses: string[]) =>
      store.transaction(async tx => tx.hold.endFor(idOf(1), {...released, addresses}));
    const strike = async (...acts: RecipientAct[]) => store.transaction(async tx => tx.hold.strikeRecipients(idOf(1), acts));
    const discarded: RecipientAct = {address: 'b@one.test', state: 'discarded', acted_at: at(6), acted_by_key_id: null};

    t.deepEqual(await endFor('A@one.test'), {addresses: ['A@one.test'], isLast: false});
    t.deepEqual(await endFor('A@one.test'), {addresses: [], isLast: false}, 'its commit had no answer');
    await strike(discarded, {...discarded, address: 'A@one.test'});
    t.deepEqual(await endFor('c@one.test', 'b@one.test'), {addresses: ['c@one.test'], isLast: true});

    t.like(await store.hold.find(idOf(1)), {state: 'held', recipients: ['c@one.test']});
    const totalOf = async (recipient: string) => (await heldQuery.list({recipient}, {kind: 'all'}, {limit: 10, offset: 0})).total;
    t.deepEqual([await totalOf('b@one.test'), await totalOf('c@one.test')], [0, 1]);
    const acts = await store.hold.recipientActs([idOf(1), idOf(2), idOf(3)]);
    t.deepEqual(
      [...acts],
      [[idOf(1), [{address: 'A@one.test', state: 'released', acted_at: at(5), acted_by_key_id: 5}, discarded]]],
      'the first act counts',
    );
    const events = await store.events.find({}, {kind: 'all'}, {limit: 10});
    t.deepEqual(
      events.flatMap(({event, recipients, recipients_left, server}) =>
        event === 'held' ? [] : [{event, recipients, recipients_left, server}],
      ),
      [{event: 'released', recipients: ['A@one.test'], recipients_left: 2, server: 'x:25'}],
      'what was done elsewhere is in the log already',
    );
    await store.transaction(async tx => tx.hold.forget(idOf(1)));
    t.is((await store.hold.recipientActs([idOf(1)])).size, 0);
    t.deepEqual(await endFor('c@one.test'), {addresses: [], isLast: false}, 'a mail that is not there');
  },
);

testStores('rows are forgotten by id, or some time after the end, as many at once as are asked for', async (t, {store}) => {
  await insert(store, ...[1, 2, 3, 4].map(n => mail(n)));
  await store.transaction(async tx => tx.hold.forget(idOf(4)));
  for (const n of [1, 2]) await store.transaction(async tx => tx.hold.end([idOf(n)], 'held', {...discarded, at: at(n)}));
  const forget = async (before: string, limit: number) => store.transaction(async tx => tx.hold.forgetEnded(before, limit));

  t.deepEqual([await forget(at(1), 10), await forget(at(3), 1), await forget(at(3), 10), await forget(at(3), 10)], [0, 1, 1, 0]);
  t.deepEqual(
    [await stateOf(store, 1), await stateOf(store, 2), await stateOf(store, 3), await stateOf(store, 4)],
    [undefined, undefined, 'held', undefined],
  );
  t.like(await store.hold.counts(), {0: {count: 1, size_bytes: 103}, length: 1});
});

testStores('mail is due by the limit of its domain and reason, without mail that mfd has not scored', async (t, {store}) => {
  const two = {domain: 'two.test', domain_id: 2};
  await insert(
    store,
    ...[mail(1), mail(2, {symbol_scores: unjudgedSymbols}), mail(3), mail(4), mail(5)],
    ...[mail(6, {...two}), mail(7, {...two, reason: 'rbl'}), mail(8, {domain: 'three.test', domain_id: 3})],
    mail(9, {keeper: 'postfix'}),
  );
  await store.transaction(async tx => tx.hold.claim([idOf(4)], {state: 'releasing', keyId: 1}));
  await store.transaction(async tx => tx.hold.end([idOf(5)], 'held', {...discarded, at: at(5)}));
  const limitOf = (domain: string, domain_id: number, reason: 'spam' | 'rbl', n: number) => ({
    ...{domain, domain_id, reason},
    before: at(n),
  });
  const one = (n: number) => limitOf('one.test', 1, 'spam', n);
  const dueBy = async (limits: ReturnType<typeof limitOf>[], choice: {limit: number; keeper?: 'spool'} = {limit: 10}) =>
    (await store.hold.listArrivedBefore(limits, choice)).sort();

  t.deepEqual(await dueBy([]), []);
  t.deepEqual(await dueBy([one(9)]), [idOf(1), idOf(3)]);
  t.deepEqual(await dueBy([one(3)]), [idOf(1)]);
  t.deepEqual(await dueBy([one(3), limitOf('two.test', 2, 'spam', 6)]), [idOf(1)]);
  t.deepEqual(await dueBy([one(3), limitOf('two.test', 2, 'spam', 7)]), [idOf(1), idOf(6)]);
  t.deepEqual(await dueBy([limitOf('two.test', 2, 'rbl', 8)]), [idOf(7)]);
  t.deepEqual(await dueBy([limitOf('two.test', 1, 'spam', 9)]), []);
  t.is((await dueBy([one(9)], {limit: 1})).length, 1);
  t.deepEqual(await dueBy([one(10)]), [idOf(1), idOf(3), idOf(9)]);
  t.deepEqual(await dueBy([one(10)], {limit: 10, keeper: 'spool'}), [idOf(1), idOf(3)]);
});

testStores(
  'mail whose header From was not read is listed until it has been, in one form for every reader',
  async (t, {store}) => {
    const unread = {from: null} as const;
    await insert(store, mail(3, unread), mail(1, unread), mail(2), mail(4, {...unread, keeper: 'postfix'}), mail(5, unread));
    await store.transaction(async tx => tx.hold.end([idOf(5)], 'held', discarded));
    const left = async (after: string, choice: {limit: number; keeper?: 'spool'}) => store.hold.listWithoutFrom(after, choice);

    t.deepEqual(await left('', {limit: 10}), [idOf(1), idOf(3), idOf(4)]);
    t.deepEqual(await left(idOf(1), {limit: 1}), [idOf(3)]);
    t.deepEqual(await left('', {limit: 10, keeper: 'spool'}), [idOf(1), idOf(3)]);
    await store.transaction(async tx =>
      tx.hold.writeFrom([
        {queueId: idOf(1), from: ['ceo@bank.test']},
        {queueId: idOf(2), from: ['other@bank.test']},
        {queueId: idOf(3), from: []},
        {queueId: 'Unknown001', from: []},
      ]),
    );

    t.deepEqual(await left('', {limit: 10}), [idOf(4)]);
    t.deepEqual((await store.hold.find(idOf(1)))?.from, ['ceo@bank.test']);
    t.deepEqual((await store.hold.find(idOf(2)))?.from, mail(2).from, 'what is known is not replaced');
    t.deepEqual((await store.hold.find(idOf(3)))?.from, []);
    t.is((await store.hold.find(idOf(4)))?.from, null);
  },
);

testStores('rows of mail in Postfix are confirmed and described, and found by their place', async (t, {store}) => {
  const inPostfix = {keeper: 'postfix', subject: '', symbol_scores: unjudgedSymbols} as const;
  await insert(store, mail(1, inPostfix), mail(2, inPostfix), mail(3));

  await store.transaction(async tx => {
    await tx.postfix.confirm([{queueId: idOf(1), queuedAt: 1_772_323_200, sizeBytes: 5000}]);
    await tx.postfix.describe(idOf(2), {
      from: ['ceo@bank.test'],
      subject: 'Überweisung',
      client_ip: '192.0.2.7',
      helo: 'mail.test',
    });
  });

  t.deepEqual((await store.postfix.list()).map(({queue_id, queued_at}) => [queue_id, queued_at]).sort(), [
    [idOf(1), 1_772_323_200],
    [idOf(2), null],
  ]);
  t.deepEqual(
    (await store.postfix.find([idOf(2), idOf(3)])).map(({queue_id}) => queue_id),
    [idOf(2)],
  );
  t.deepEqual(await store.postfix.listWithoutSubject(), [idOf(1)]);
  t.like(await store.hold.find(idOf(2)), {subject: 'Überweisung', client_ip: '192.0.2.7', helo: 'mail.test'});
  t.is(await store.hold.countHeldBy('postfix'), 2);
  t.is(
    (await store.hold.counts()).reduce((sum, {size_bytes}) => sum + size_bytes, 0),
    5000 + 102 + 103,
  );
});

const steps: Record<string, (tx: StoreTransaction, one: NewHeldMail) => Promise<unknown>> = {
  hold: async (tx, one) => tx.hold.insert([one]),
  claim: async (tx, {queue_id}) => tx.hold.claim([queue_id], {state: 'discarding', keyId: 1}),
  unclaim: async (tx, {queue_id}) => tx.hold.unclaim([queue_id]),
  'end held': async (tx, {queue_id}) => tx.hold.end([queue_id], 'held', discarded),
  'end claimed': async (tx, {queue_id}) => tx.hold.end([queue_id], 'discarding', discarded),
  forget: async (tx, {queue_id}) => tx.hold.forget(queue_id),
  async reopen(tx, {queue_id}) {
    const stored = await tx.hold.find(queue_id);
    if (stored && !isHeld(stored)) await tx.hold.reopen(stored, at(200));
  },
};

const groupOf = ({domain, domain_id, reason}: Pick<HeldCount, 'domain' | 'domain_id' | 'reason'>) =>
  `${domain} ${domain_id} ${reason}`;

testStores('the totals are those of the mails that are held, after whatever has happened', async (t, {store}) => {
  const history = fc.array(fc.tuple(fc.nat(9), fc.constantFrom('hold', 'hold', ...Object.keys(steps))), {
    minLength: 10,
    maxLength: 40,
  });
  const one = (n: number) => mail(n, {domain: `d${n % 2}.test`, domain_id: n % 3, reason: reasons[n % 3] ?? 'spam'});
  const everyId = Array.from({length: 10}, (_, n) => idOf(n));

  await fc.assert(
    fc.asyncProperty(history, async acts => {
      for (const [n, act] of acts) await store.transaction(async tx => steps[act]?.(tx, one(n)));

      const expected: Record<string, HeldCount> = {};
      for (const {domain, domain_id, reason, size_bytes} of (await store.hold.findAll(everyId)).filter(isHeld)) {
        const known = expected[groupOf({domain, domain_id, reason})] ?? {domain, domain_id, reason, count: 0, size_bytes: 0};
        expected[groupOf(known)] = {...known, count: known.count + 1, size_bytes: known.size_bytes + size_bytes};
      }
      t.deepEqual(Object.fromEntries((await store.hold.counts()).map(count => [groupOf(count), count])), expected);
    }),
    {numRuns: 15},
  );
});

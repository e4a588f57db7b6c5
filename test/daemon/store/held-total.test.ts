import test from 'ava';
import fc from 'fast-check';
import {
  endLife,
  findHeldMail,
  forgetHeldMail,
  insertHeldMails,
  type NewHeldMail,
  reopen,
  strikeRecipients,
} from '../../../daemon/store/held-mail.ts';
import {createHeldQuery} from '../../../daemon/store/held-query.ts';
import {describe} from '../../../daemon/store/postfix-mail.ts';
import type {HoldFilter} from '../../../shared/hold-filter.ts';
import {testDatabase} from '../../helpers/database.ts';

const all = {kind: 'all'} as const;
const start = Date.UTC(2026, 2, 1, 10, 30);

const subjects = ['Überweisung 100% sicher', 'a_b "quoted" \\ text', 'INVOICE 4711', 'Счёт-фактура', '特別なお知らせ', 'x', ''];

const mail = (n: number): NewHeldMail => ({
  queue_id: `Mail${String(n).padStart(6, '0')}`,
  direction: 'inbound',
  domain: `d${n % 2}.test`,
  domain_id: n % 2,
  sender: `sender${n % 3}@from.test`,
  recipients: [`a${n % 2}@one.test`, 'b@one.test'],
  subject: subjects[n % subjects.length] ?? '',
  score: n + (n % 10) / 20,
  symbol_scores: [],
  reason: 'spam',
  size_bytes: 100,
  arrived_at: new Date(start + n * 20 * 60_000).toISOString(),
  is_utf8: false,
  is_eight_bit: false,
  client_ip: '192.0.2.1',
  helo: 'x',
  keeper: 'spool',
  queued_at: null,
  sha256: '',
});

const at = (minutes: number) => new Date(start + minutes * 60_000).toISOString();

/** With what each has to find. */
const searches: [filter: HoldFilter, matches: (mail: NewHeldMail) => boolean][] = [
  [{since: at(45)}, ({arrived_at}) => arrived_at >= at(45)],
  [{until: at(130)}, ({arrived_at}) => arrived_at < at(130)],
  [{since: at(41), until: at(62)}, ({arrived_at}) => arrived_at >= at(41) && arrived_at < at(62)],
  [
    {since: at(30), until: at(150), min_score: 3.01, max_score: 8.99},
    ({arrived_at, score}) => arrived_at >= at(30) && arrived_at < at(150) && score >= 3.01 && score <= 8.99,
  ],
  [{min_score: 4.2}, ({score}) => score >= 4.2],
  [{max_score: 5.25}, ({score}) => score <= 5.25],
  [{min_score: 5.21, max_score: 5.29}, ({score}) => score >= 5.21 && score <= 5.29],
  [{sender: 'from.test'}, () => true],
  [{recipient: 'b@one.test'}, ({recipients}) => recipients.includes('b@one.test')],
  [{subject: 'invoice'}, ({subject}) => subject.toLowerCase().includes('invoice')],
  [{subject: 'o'}, ({subject}) => subject.toLowerCase().includes('o')],
];

test('a total that was counted before is right after whatever has happened since', async t => {
  const {database} = await testDatabase(t, {isDurable: false});
  const query = createHeldQuery(database.read);
  const step = fc.record({
    n: fc.nat(11),
    what: fc.constantFrom('hold', 'hold', 'hold', 'end', 'reopen', 'strike', 'forget', 'describe', 'roll back'),
    search: fc.nat(searches.length - 1),
  });

  await fc.assert(
    fc.asyncProperty(fc.array(step, {minLength: 5, maxLength: 25}), async steps => {
      await database.write('held_mail').delete();
      const held = new Map<string, NewHeldMail>();
      const ended = new Map<string, NewHeldMail>();
      for (const {n, what, search} of steps) {
        const one = mail(n);
        const id = one.queue_id;
        await database.write
          .transaction(async tx => {
            if (what === 'hold' || what === 'roll back') await insertHeldMails(tx, [one]);
            if (what === 'end') await endLife(tx, id, 'held', {state: 'discarded', at: at(0), keyId: 1});
            if (what === 'reopen' && ended.has(id)) await reopen(tx, (await findHeldMail(tx, id)) as never);
            if (what === 'strike') await strikeRecipients(tx, id, ['b@one.test']);
            if (what === 'forget') await forgetHeldMail(tx, id);
            if (what === 'describe') await describe(tx, id, {subject: 'invoice', client_ip: '', helo: ''});
            if (what === 'roll back') throw new Error('rolled back');
          })
          .catch(error => what === 'roll back' || Promise.reject(error));
        const known = held.get(id) ?? ended.get(id);
        if (what === 'hold' && !known) held.set(id, one);
        if (what === 'end' && held.delete(id) && known) ended.set(id, known);
        if (what === 'reopen' && ended.delete(id) && known) held.set(id, known);
        if (what === 'strike' && known) known.recipients = known.recipients.filter(name => name !== 'b@one.test');
        if (what === 'describe' && known) known.subject = 'invoice';
        if (what === 'forget') void (held.delete(id) || ended.delete(id));

        const [filter, matches] = searches[search] ?? [{}, () => true];
        const {total, mails} = await query.list(filter, all, {limit: 100, offset: 0});

        t.is(total, [...held.values()].filter(matches).length, JSON.stringify(filter));
        t.is(mails.length, total);
      }
    }),
    {numRuns: 40},
  );
});

test('a total that has not been asked for while more has changed than is remembered is right all the same', async t => {
  const {database} = await testDatabase(t, {isDurable: false});
  const query = createHeldQuery(database.read);
  const total = async () => (await query.list({sender: 'from.test'}, all, {limit: 1, offset: 0})).total;
  await database.write.transaction(async tx => insertHeldMails(tx, [mail(1)]));
  t.is(await total(), 1);

  await database.write.transaction(async tx =>
    insertHeldMails(
      tx,
      Array.from({length: 12_500}, (_, n) => mail(n + 2)),
    ),
  );

  t.is(await total(), 12_501);
  const [{first}] = (await database.read('held_change').min({first: 'seq'})) as [{first: number}];
  t.true(first > 1000);
});

test('a subject is found by any part of it, whatever characters there are', async t => {
  const {database} = await testDatabase(t, {isDurable: false});
  const query = createHeldQuery(database.read);
  await database.write.transaction(async tx =>
    insertHeldMails(
      tx,
      Array.from({length: 30}, (_, n) => mail(n)),
    ),
  );
  const parts = subjects.flatMap(subject => {
    const characters = [...subject];
    return characters.flatMap((_, from) => [1, 2, 3, 4, 9].map(length => characters.slice(from, from + length).join('')));
  });

  for (const part of new Set([...parts, 'ÜBERWEISUNG', 'u\u0308ber', '%', '_', '\\', '"', 'OR', 'a*b', 'zzz', '100%%'])) {
    const folded = part.normalize('NFC').toLowerCase();
    const {mails, total} = await query.list({subject: part}, all, {limit: 100, offset: 0});

    const expected = Array.from({length: 30}, (_, n) => mail(n)).filter(({subject}) =>
      subject.normalize('NFC').toLowerCase().includes(folded),
    );
    t.is(total, expected.length, part);
    t.deepEqual(mails.map(({queue_id}) => queue_id).sort(), expected.map(({queue_id}) => queue_id).sort(), part);
  }
});

test('a subject that very many mails have is found as one that few have', async t => {
  const {database} = await testDatabase(t, {isDurable: false});
  const query = createHeldQuery(database.read);
  const many = Array.from({length: 2000}, (_, n) => ({...mail(n), subject: n % 2 === 0 ? `Offer ${n}` : `offers of ${n}`}));
  await database.write.transaction(async tx => insertHeldMails(tx, many));

  const common = await query.list({subject: 'OFFER'}, all, {limit: 2, offset: 0});
  const rare = await query.list({subject: 'offers of 77'}, all, {limit: 2, offset: 0});

  t.is(common.total, 2000);
  t.deepEqual(
    common.mails.map(({subject}) => subject),
    ['offers of 1999', 'Offer 1998'],
  );
  t.is(rare.total, 6);
});

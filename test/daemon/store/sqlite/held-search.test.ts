import test from 'ava';
import fc from 'fast-check';
import type {NodeTransaction} from '../../../../daemon/services/node-store.ts';
import type {NewHeldMail} from '../../../../daemon/services/quarantine/stored-mail.ts';
import {createHeldQuery} from '../../../../daemon/store/sqlite/held-query.ts';
import type {HoldFilter} from '../../../../shared/hold-filter.ts';
import {testStore} from '../../../helpers/store.ts';
import {oddSubjects, releasedFor, storedMail} from '../../../helpers/stored-mail.ts';

const all = {kind: 'all'} as const;
const start = Date.UTC(2026, 2, 1, 10, 30);

const mail = (n: number): NewHeldMail =>
  storedMail({
    queue_id: `Mail${String(n).padStart(6, '0')}`,
    domain: `d${n % 2}.test`,
    domain_id: n % 2,
    sender: `sender${n % 3}@from.test`,
    from: n % 4 === 3 ? null : ['author@from.test', `a${n % 2}@bank.test`],
    recipients: [`a${n % 2}@one.test`, 'b@one.test'],
    subject: oddSubjects[n % oddSubjects.length] ?? '',
    score: n + (n % 10) / 20,
    arrived_at: new Date(start + n * 20 * 60_000).toISOString(),
  });

const at = (minutes: number) => new Date(start + minutes * 60_000).toISOString();

/** Filters, each with the mails that it must find. */
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
  [{from: 'bank.test'}, ({from}) => from?.some(address => address.endsWith('@bank.test')) === true],
  [{from: 'a1@bank.test'}, ({from}) => from?.includes('a1@bank.test') === true],
  [{address: 'b@one.test'}, ({from, recipients}) => recipients.includes('b@one.test') || from?.includes('b@one.test') === true],
  [{subject: 'invoice'}, ({subject}) => subject.toLowerCase().includes('invoice')],
  [{subject: 'o'}, ({subject}) => subject.toLowerCase().includes('o')],
];

/** Held and former mails, as far as they are known without a store. */
interface Model {
  held: Map<string, NewHeldMail>;
  ended: Map<string, NewHeldMail>;
}

const move = (id: string, from: Model['held'], to: Model['held']): void => {
  const known = from.get(id);
  if (known) to.set(id, known);
  from.delete(id);
};

const steps: Record<string, (tx: NodeTransaction, one: NewHeldMail, model: Model) => Promise<void>> = {
  async hold(tx, one, {held, ended}) {
    await tx.hold.insert([one]);
    if (!held.has(one.queue_id) && !ended.has(one.queue_id)) held.set(one.queue_id, one);
  },
  async end(tx, {queue_id}, {held, ended}) {
    await tx.hold.end([queue_id], 'held', {state: 'discarded', at: at(0), keyId: 1});
    move(queue_id, held, ended);
  },
  async reopen(tx, {queue_id}, {held, ended}) {
    const stored = await tx.hold.find(queue_id);
    if (stored?.state === 'discarded') await tx.hold.reopen(stored, at(1));
    move(queue_id, ended, held);
  },
  async strike(tx, {queue_id}, {held, ended}) {
    await tx.hold.strikeRecipients(queue_id, releasedFor('b@one.test'));
    const known = held.get(queue_id) ?? ended.get(queue_id);
    if (known) known.recipients = known.recipients.filter(name => name !== 'b@one.test');
  },
  async forget(tx, {queue_id}, {held, ended}) {
    await tx.hold.forget(queue_id);
    held.delete(queue_id);
    ended.delete(queue_id);
  },
  async describe(tx, {queue_id}, {held, ended}) {
    await tx.postfix.describe(queue_id, {from: ['b@one.test'], subject: 'invoice', client_ip: '', helo: ''});
    const known = held.get(queue_id) ?? ended.get(queue_id);
    if (known) Object.assign(known, {subject: 'invoice', from: known.from ?? ['b@one.test']});
  },
  async 'roll back'(tx, one) {
    await tx.hold.insert([one]);
    throw rolledBack;
  },
};
const rolledBack = new Error('rolled back');

test('what is listed, and the total, are right after whatever has happened to held mail', async t => {
  const {store} = await testStore(t, {isDurable: false});
  const query = createHeldQuery(store.read, 'alpha');
  const step = fc.record({
    n: fc.nat(11),
    what: fc.constantFrom('hold', 'hold', ...Object.keys(steps)),
    search: fc.constantFrom(...searches),
  });

  await fc.assert(
    fc.asyncProperty(fc.array(step, {minLength: 5, maxLength: 25}), async history => {
      await store.write('held_mail').delete();
      const model: Model = {held: new Map(), ended: new Map()};
      for (const {n, what, search} of history) {
        const work = store.transaction(async tx => steps[what]?.(tx, mail(n), model));
        await work.catch(error => t.is(error, rolledBack));

        const [filter, matches] = search;
        const {total, mails} = await query.list(filter, all, {limit: 100, offset: 0});

        t.is(total, [...model.held.values()].filter(matches).length, JSON.stringify(filter));
        t.is(mails.length, total);
      }
    }),
    {numRuns: 40},
  );
});

test('a subject is found before and after the index has it, and no more once its mail is gone', async t => {
  const {store} = await testStore(t, {isDurable: false});
  const query = createHeldQuery(store.read, 'alpha');
  const step = fc.record({
    arrive: fc.constantFrom(1, 2, 90, 300),
    goNewest: fc.constantFrom(0, 0, 1, 5, 400),
    goOldest: fc.nat(3),
  });
  let number = 0;

  await fc.assert(
    fc.asyncProperty(fc.array(step, {minLength: 3, maxLength: 8}), async history => {
      await store.write('held_mail').delete();
      let held: NewHeldMail[] = [];
      for (const {arrive, goNewest, goOldest} of history) {
        const come = Array.from({length: arrive}, () => ({...mail(number++), subject: `Offer of ${number % 10}`}));
        const gone = [...held.slice(0, goOldest), ...held.slice(Math.max(goOldest, held.length - goNewest))];
        held = [...held.filter(one => !gone.includes(one)), ...come];
        await store.transaction(async tx => {
          for (const {queue_id} of gone) await tx.hold.forget(queue_id);
          await tx.hold.insert(come);
        });

        const {mails, total} = await query.list({subject: 'offer of 7'}, all, {limit: 1000, offset: 0});

        const expected = held.filter(({subject}) => subject === 'Offer of 7').map(({queue_id}) => queue_id);
        t.is(total, expected.length);
        t.deepEqual(mails.map(({queue_id}) => queue_id).sort(), expected.sort());
      }
    }),
    {numRuns: 10},
  );
  await t.notThrowsAsync(async () => store.write.raw("INSERT INTO held_trigram (held_trigram) VALUES ('integrity-check')"));
});

import test from 'ava';
import {toListEntry} from '../../../../daemon/hold/held-facts.ts';
import {createMailSource} from '../../../../daemon/services/events/mail-source.ts';
import {operator} from '../../../helpers/hold-queue.ts';
import {testStore} from '../../../helpers/store.ts';
import {storedMail} from '../../../helpers/stored-mail.ts';

test('the event of a held mail has all of its subject, recipients and symbols, also where the event log has not', async t => {
  const {store} = await testStore(t, {isDurable: false});
  const symbols = Array.from({length: 300}, (_, n) => ({name: `SOME_SYMBOL_${n}`, score: 1}));
  const recipients = Array.from({length: 150}, (_, n) => `user${n}@one.test`);
  const mails = [
    {subject: 's'.repeat(900)},
    {subject: 'many symbols', symbol_scores: symbols},
    {subject: 'many recipients', recipients},
    {subject: 'plain'},
  ].map((fields, n) => storedMail({queue_id: `Held0${n}`, arrived_at: '2026-03-01T00:00:00.000Z', score: 7, ...fields}));
  let asked: readonly string[] = [];
  const source = createMailSource({
    ...{store, nodeId: 'alpha', name: 'alpha'},
    async findHeld(owner, queueIds) {
      asked = queueIds;
      return (await store.hold.findAll(queueIds)).map(row => toListEntry(owner, row));
    },
  });
  const {place} = await source.after(undefined, ['held'], operator);
  await store.transaction(async tx => tx.hold.insert(mails));

  const {events} = await source.after(place, ['held'], operator);

  t.deepEqual(
    events.map(({event}) => ('subject' in event ? [event.subject, event.recipients, event.symbols] : [])),
    mails.map(({subject, recipients, symbol_scores}) => [subject, recipients, symbol_scores.map(({name}) => name)]),
  );
  t.deepEqual(asked, ['Held00', 'Held01', 'Held02']);
});

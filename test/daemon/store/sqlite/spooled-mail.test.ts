import test from 'ava';
import {testStore} from '../../../helpers/store.ts';
import {storedMail} from '../../../helpers/stored-mail.ts';

const first = storedMail({queue_id: 'Mail000000', arrived_at: '2026-03-01T12:00:00.000Z', subject: 'x', score: 1});

test('each held mail of the spool is listed once, with thousands that came at the same moment', async t => {
  const {store} = await testStore(t, {isDurable: false});
  await store.transaction(async tx => tx.hold.insert([first]));
  await store.write.raw('CREATE TEMP TABLE copy AS SELECT * FROM held_mail');
  const copy = async (count: number, prefix: string, change: string) => {
    await store.write.raw(`UPDATE copy SET ${change}`);
    for (let n = 1; n <= count; n += 1) {
      await store.write.raw('UPDATE copy SET queue_id = ?', [`${prefix}${String(n).padStart(6, '0')}`]);
      await store.write.raw('INSERT INTO held_mail SELECT * FROM copy');
    }
  };
  await store.write.raw('BEGIN');
  await copy(15_000, 'Same', "arrived_at = '2026-03-01T13:00:00.000Z'");
  await copy(7000, 'More', "arrived_at = '2026-03-01T11:00:00.000Z'");
  await copy(1, 'Kept', "keeper = 'postfix'");
  await copy(1, 'Gone', "keeper = 'spool', is_held = 0, state = 'released'");
  await store.write.raw('COMMIT');

  const batches: string[][] = [];
  for await (const batch of store.spooled.held()) batches.push(batch);

  const ids = batches.flat();
  t.is(ids.length, 22_001);
  t.is(new Set(ids).size, 22_001);
  t.true(Math.max(...batches.map(batch => batch.length)) <= 10_000);
  t.deepEqual(
    ids.filter(id => !/^(Same|More)/.test(id)),
    ['Mail000000'],
  );
});

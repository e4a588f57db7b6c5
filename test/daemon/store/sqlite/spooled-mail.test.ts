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
    const columns = (await store.write('copy').columnInfo()) as object;
    const values = Object.keys(columns).map(name => (name === 'queue_id' ? `printf('${prefix}%06d', value)` : name));
    await store.write.raw(
      `WITH RECURSIVE series(value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM series WHERE value < ${count}) INSERT INTO held_mail SELECT ${values.join(', ')} FROM copy, series`,
    );
  };
  await copy(15_000, 'Same', "arrived_at = '2026-03-01T13:00:00.000Z'");
  await copy(7000, 'More', "arrived_at = '2026-03-01T11:00:00.000Z'");
  // One bit of such a time may have changed.
  await copy(1, 'Late', "arrived_at = 'r026-03-01T11:00:00.000Z'");
  await copy(1, 'Kept', "keeper = 'postfix'");
  await copy(1, 'Gone', "keeper = 'spool', is_held = 0, state = 'released'");

  const batches: string[][] = [];
  for await (const batch of store.spooled.held()) batches.push(batch);

  const ids = batches.flat();
  t.is(ids.length, 22_002);
  t.is(new Set(ids).size, 22_002);
  t.true(Math.max(...batches.map(batch => batch.length)) <= 10_000);
  t.deepEqual(
    ids.filter(id => !/^(Same|More)/.test(id)),
    ['Late000001', 'Mail000000'],
  );
});

import test from 'ava';
import {openDatabase} from '../../../../daemon/store/sqlite/database.ts';
import {findDamage, findIndexDamage, findLogDamage} from '../../../../daemon/store/sqlite/integrity.ts';
import {type DamagedTable, damageTable} from '../../../helpers/damaged-table.ts';
import {testDatabase} from '../../../helpers/store.ts';

/** More than is checked entry by entry. */
const large = 20 * 1024 * 1024;

const sizes = [
  ['small', 0],
  ['large', large],
] as const;

const damaged = async (t: Parameters<typeof testDatabase>[0], bytes: number, table: DamagedTable | undefined) => {
  const {database, filename} = await testDatabase(t, {isDurable: false});
  await database.write('local_state').insert({name: 'fill', value: 'x'.repeat(bytes)});
  await database.close();
  if (table !== undefined) await damageTable(filename, table);
  const reopened = await openDatabase(filename);
  try {
    return {found: await findDamage(reopened), inLog: await findLogDamage(reopened)};
  } finally {
    await reopened.close();
  }
};

for (const [size, bytes] of sizes) {
  test(`nothing is found in a ${size} database that is whole`, async t => {
    t.deepEqual(await damaged(t, bytes, undefined), {found: undefined, inLog: undefined});
  });

  for (const table of ['mail_event', 'mail_event_word_data', 'mail_event_word_docsize'] as const)
    test(`damage to ${table} of a ${size} database is not found with the rest, but for itself`, async t => {
      const {found, inLog} = await damaged(t, bytes, table);

      t.is(found, undefined);
      t.truthy(inLog);
    });

  for (const table of ['held_mail', 'audit', 'held_mail_acted'] as const)
    test(`damage to ${table} of a ${size} database is found`, async t => {
      const {found, inLog} = await damaged(t, bytes, table);

      t.truthy(found);
      t.is(inLog, undefined);
    });
}

for (const [size, bytes] of sizes)
  test(`an index of subjects that says something else in a ${size} database is found`, async t => {
    const {database, filename} = await testDatabase(t, {isDurable: false});
    await database.write('local_state').insert({name: 'fill', value: 'x'.repeat(bytes)});
    t.is(await findIndexDamage(database), undefined);
    await database.write.raw("INSERT INTO held_trigram (rowid, folded_subject) VALUES (1, 'an offer for you')");
    await database.write.raw('UPDATE held_trigram_data SET block = zeroblob(length(block)) WHERE id > 10');
    // A connection keeps what it has read of it.
    await database.close();
    const reopened = await openDatabase(filename);
    t.teardown(reopened.close);

    t.truthy(await findIndexDamage(reopened));
    // Reading it takes too long for a start.
    t.is((await findDamage(reopened)) === undefined, size === 'large');
  });

import {join} from 'node:path';
import test from 'ava';
import {unknownMail} from '../../../../daemon/services/events/held-event.ts';
import {openDatabase} from '../../../../daemon/store/sqlite/database.ts';
import {openTestStore, testFolder, testStore} from '../../../helpers/store.ts';
import {storedMail} from '../../../helpers/stored-mail.ts';

const all = {kind: 'all'} as const;
const at = '2026-03-01T00:00:00.000Z';

test('a copy made while the log is written without a pause has mail and log of one moment, and goes on from there', async t => {
  const {store, filename} = await testStore(t, {isDurable: false});
  const copy = join(await testFolder(t), 'mfd.db');
  await store.transaction(async tx =>
    tx.hold.insert([storedMail({queue_id: 'Mail000001', subject: 'held', score: 7, arrived_at: at})]),
  );
  let written = 0;
  let isCopied = false;
  const append = async (queue_id: string) =>
    store.transaction(async tx => tx.events.append(Array(50).fill({...unknownMail, event: 'relayed', at, queue_id})));
  await append('First00001');
  const writing = (async () => {
    for (; !isCopied; written += 1) await append('Busy000001');
  })();

  // As sqlite3 does, which is another process.
  const other = await openDatabase(filename);
  await other.write.raw(`VACUUM INTO '${copy}'`);
  await other.close();
  isCopied = true;
  await writing;
  const restored = await openTestStore(copy);
  t.teardown(restored.close);
  const [newest] = await restored.events.find({}, all, {limit: 1});
  await restored.transaction(async tx =>
    tx.events.append([{...unknownMail, event: 'relayed', at: '2020-01-01T00:00:00.000Z', queue_id: 'Later00001'}]),
  );
  const [later] = await restored.events.find({}, all, {limit: 1});

  t.true(written > 0);
  t.is((await restored.events.find({queue_id: 'First00001'}, all, {limit: 100})).length, 50);
  t.is((await restored.events.find({queue_id: 'Mail000001'}, all, {limit: 100})).length, 1);
  t.is((await restored.hold.find('Mail000001'))?.state, 'held');
  t.is(await restored.findDamage(), undefined);
  t.is(await restored.findLogDamage(), undefined);
  t.is(later?.queue_id, 'Later00001');
  t.true((later?.number ?? 0) > (newest?.number ?? 0));
});

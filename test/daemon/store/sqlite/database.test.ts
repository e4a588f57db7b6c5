import {join} from 'node:path';
import test from 'ava';
import {writeState} from '../../../../daemon/store/sql/local-state.ts';
import {acquireLock, isDiskFull, openDatabase} from '../../../../daemon/store/sqlite/database.ts';
import {mayMount, smallDisk} from '../../../helpers/small-disk.ts';
import {testDatabase, testFolder} from '../../../helpers/store.ts';

test('commits are on the disk before they are acknowledged: WAL, synchronous FULL', async t => {
  const {database} = await testDatabase(t);

  t.deepEqual(await database.write.raw('PRAGMA journal_mode'), [{journal_mode: 'wal'}]);
  t.deepEqual(await database.write.raw('PRAGMA synchronous'), [{synchronous: 2}]);
});

test('the readers cannot write', async t => {
  const {database} = await testDatabase(t);

  await t.throwsAsync(writeState(database.read, 'a', '1'), {message: /readonly|read-only/});
});

test('a transaction that has read may still write when another connection has written in between', async t => {
  const {database, filename} = await testDatabase(t);
  const other = await openDatabase(filename);
  t.teardown(other.close);

  const [mine, theirs] = [database, other].map(async ({transaction}) =>
    transaction(async tx => {
      await tx('local_state');
      await new Promise(resolve => setTimeout(resolve, 50));
      await tx('local_state').insert({name: `written by ${transaction === database.transaction}`, value: ''});
    }),
  );

  await t.notThrowsAsync(Promise.all([mine, theirs]));
  t.is((await database.read('local_state')).length, 2);
});

test('a transaction that failed leaves nothing, and the next one works', async t => {
  const {database} = await testDatabase(t);

  const failing = database.transaction(async tx => {
    await writeState(tx, 'a', '1');
    await tx.raw('no such statement');
  });

  await t.throwsAsync(failing, {message: /syntax error/});
  await database.transaction(async tx => writeState(tx, 'b', '2'));
  t.deepEqual(await database.read('local_state').pluck('name'), ['b']);
});

(mayMount ? test : test.skip)(
  'a full disk is known as one, wherever in a transaction it shows (needs the right to mount a tmpfs)',
  async t => {
    const disk = await smallDisk(t, 8 * 1024 * 1024);
    const database = await openDatabase(join(disk.path, 'mfd.db'));
    t.teardown(database.close);
    await disk.fill();

    const atCommit = await t.throwsAsync(database.transaction(async tx => writeState(tx, 'a', 'x')));
    const inside = await t.throwsAsync(
      database.transaction(async tx => {
        for (let n = 0; n < 300; n += 1) await writeState(tx, `a${n}`, 'x'.repeat(50_000));
      }),
    );
    await disk.clear();

    t.true(isDiskFull(atCommit), atCommit?.message);
    t.true(isDiskFull(inside), inside?.message);
    await t.notThrowsAsync(database.transaction(async tx => writeState(tx, 'a', 'x')));
    t.is((await database.read('local_state')).length, 1);
  },
);

test('a lock is had by one, and free again once it is given up', async t => {
  const filename = join(await testFolder(t), 'lock.db');
  const first = await acquireLock(filename);

  const second = await acquireLock(filename);
  await first?.release();
  const third = await acquireLock(filename);
  await third?.release();

  t.is(second, undefined);
  t.truthy(third);
});

(mayMount ? test : test.skip)('a lock is had on a full disk too (needs the right to mount a tmpfs)', async t => {
  const disk = await smallDisk(t, 1024 * 1024);
  const filename = join(disk.path, 'lock.db');
  await (await acquireLock(filename))?.release();
  await disk.fill();

  const lock = await acquireLock(filename);
  t.teardown(async () => lock?.release());

  t.truthy(lock);
});

test('whoever waits too long for the writer is told to come again, and nothing was done', async t => {
  const folder = await testFolder(t);
  const file = join(folder, 'mfd.db');
  // Its tables are created before the timed part.
  await (await openDatabase(file)).close();
  const database = await openDatabase(file, {waitMs: 2000});
  t.teardown(database.close);
  let letGo = () => {};
  const holder = database.transaction(
    async () =>
      new Promise<void>(resolve => {
        letGo = resolve;
      }),
  );

  const error = await t.throwsAsync(database.transaction(async tx => writeState(tx, 'clock', 'late')));
  letGo();
  await holder;

  t.like(error, {name: 'Fault', code: 'unavailable', details: {retryAfterSeconds: 2}});
  await database.transaction(async tx => writeState(tx, 'clock', 'in time'));
  t.is((await database.read('local_state').where({name: 'clock'}).first()).value, 'in time');
});

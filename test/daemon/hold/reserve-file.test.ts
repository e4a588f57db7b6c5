import {randomBytes} from 'node:crypto';
import {stat, writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import test, {type ExecutionContext} from 'ava';
import {createReserveFile} from '../../../daemon/hold/reserve-file.ts';
import {isDiskFull} from '../../../daemon/store/sqlite/database.ts';
import {Fault} from '../../../shared/fault.ts';
import {openQueue, operator} from '../../helpers/hold-queue.ts';
import {mayMount, smallDisk} from '../../helpers/small-disk.ts';
import {spoolNames} from '../../helpers/spool-names.ts';
import {openTestStore} from '../../helpers/store.ts';

const onSmallDisk = mayMount ? test : test.skip;
const ballastBytes = 1024 * 1024;
const minFreeBytes = 1024 * 1024;

const arrange = async (t: ExecutionContext) => {
  const disk = await smallDisk(t, 16 * 1024 * 1024);
  const path = join(disk.path, 'ballast');
  let fullCount = 0;
  const make = async () =>
    createReserveFile({path, sizeBytes: ballastBytes, minFreeBytes, isDiskFull, onFull: () => (fullCount += 1)});
  const sizeOnDisk = async () =>
    stat(path).then(
      ({blocks}) => blocks * 512,
      () => 0,
    );
  return {disk, path, make, reserveFile: await make(), sizeOnDisk, fullCount: () => fullCount};
};

onSmallDisk('the ballast takes real blocks, and is kept over a restart (needs the right to mount a tmpfs)', async t => {
  const {reserveFile, make, path, sizeOnDisk} = await arrange(t);
  const {ino, mtimeMs} = await stat(path);

  const again = await make();

  t.true(reserveFile.hasSpace() && again.hasSpace());
  t.is(await sizeOnDisk(), ballastBytes);
  t.like(await stat(path), {ino, mtimeMs});
});

onSmallDisk('with little space left no mail is taken, and with more again it is (needs the right to mount a tmpfs)', async t => {
  const {disk, reserveFile} = await arrange(t);

  await disk.fill(minFreeBytes - 4096);
  await reserveFile.refresh();
  const whenFull = reserveFile.hasSpace();
  await disk.clear();
  await reserveFile.refresh();

  t.false(whenFull);
  t.true(reserveFile.hasSpace());
});

onSmallDisk(
  'on a full disk a mail can be discarded, no mail is taken, and the ballast comes back by itself (needs the right to mount a tmpfs)',
  async t => {
    const {disk, reserveFile, sizeOnDisk, fullCount} = await arrange(t);
    const store = await openTestStore(join(disk.path, 'mfd.db'));
    t.teardown(store.close);
    const test = await openQueue(store, join(disk.path, 'spool'));
    test.withReserve = reserveFile.withReserve;
    for (let n = 0; n < 4; n += 1) await test.hold(`Mail00000${n}`, {bytes: randomBytes(200_000)});
    await store.write.raw('PRAGMA wal_checkpoint(TRUNCATE)');
    await disk.fill();

    const refused = await t.throwsAsync(test.hold('TooMuch001'));
    const outcome = await test.queue.act('discard', 'Mail000000', operator);
    const whenGivenUp = {hasSpace: reserveFile.hasSpace(), bytes: await sizeOnDisk()};
    for (let n = 1; n < 4; n += 1) await test.queue.act('discard', `Mail00000${n}`, operator);
    await disk.clear();
    await reserveFile.refresh();

    t.true(['ENOSPC', 'SQLITE_FULL'].includes((refused as NodeJS.ErrnoException).code ?? ''));
    t.is(outcome.state, 'discarded');
    t.deepEqual(whenGivenUp, {hasSpace: false, bytes: 0});
    t.is(fullCount(), 1);
    t.true(reserveFile.hasSpace());
    t.is(await sizeOnDisk(), ballastBytes);
    t.deepEqual(await spoolNames(test.spool), []);
  },
);

onSmallDisk(
  'a node that starts on a full disk gives the ballast up before it opens anything (needs the right to mount a tmpfs)',
  async t => {
    const {disk, make, sizeOnDisk, fullCount} = await arrange(t);
    await disk.fill();

    const reserveFile = await make();
    const store = await openTestStore(join(disk.path, 'mfd.db'));
    await store.close();

    t.is(await sizeOnDisk(), 0);
    t.is(fullCount(), 1);
    t.false(reserveFile.hasSpace());
  },
);

onSmallDisk(
  'when even the ballast was not enough, the caller is told to come again (needs the right to mount a tmpfs)',
  async t => {
    const {reserveFile} = await arrange(t);
    const full = Object.assign(new Error('no space'), {code: 'ENOSPC'});

    const error = (await t.throwsAsync(
      reserveFile.withReserve(async () => Promise.reject(full)),
      {instanceOf: Fault},
    )) as Fault;

    t.is(error.code, 'unavailable');
    t.is(error.details.retryAfterSeconds, 30);
  },
);

onSmallDisk('any other error passes through and costs no ballast (needs the right to mount a tmpfs)', async t => {
  const {reserveFile, sizeOnDisk} = await arrange(t);

  await t.throwsAsync(
    reserveFile.withReserve(async () => Promise.reject(new Error('a bug'))),
    {message: 'a bug'},
  );

  t.is(await sizeOnDisk(), ballastBytes);
  t.true(reserveFile.hasSpace());
});

onSmallDisk('a ballast of another size, or half of one, is replaced (needs the right to mount a tmpfs)', async t => {
  const {make, path, sizeOnDisk} = await arrange(t);
  await writeFile(path, Buffer.alloc(4096));

  const reserveFile = await make();

  t.true(reserveFile.hasSpace());
  t.is(await sizeOnDisk(), ballastBytes);
});
